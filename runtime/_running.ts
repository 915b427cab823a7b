import type { AttemptObserver, AttemptOutcome } from "../ports/executor.ts";
import type { Kind } from "../ports/kind.ts";
import type { Claimed } from "../ports/store.ts";
import type { Progress } from "./_progress.ts";
import type { Suspect } from "./_suspects.ts";

/** One attempt that runs. The executor tells it, and it tells its lane: one small object, for each job has one. */
export class Running implements AttemptObserver {
  readonly startedAt: number = performance.now();
  aborted = false;
  /** What the executor calls it; known once it has been handed over. */
  key = -1;

  constructor(
    readonly job: Claimed,
    readonly kind: Kind,
    readonly progressOf: Progress,
    readonly onEnded: (running: Running, outcome: AttemptOutcome) => void,
    /** What the suspects call it, if it is one. */
    readonly suspect: Suspect | undefined,
  ) {}

  progress(done: number, note: string | undefined): void {
    this.progressOf.tell({ id: this.job.id, run: this.job.run, done, note: note ?? null });
  }

  ended(outcome: AttemptOutcome): void {
    if (this.progressOf.isPending(this.job)) {
      this.progressOf.flush().finally(() => this.onEnded(this, outcome));
    } else this.onEnded(this, outcome);
  }
}
