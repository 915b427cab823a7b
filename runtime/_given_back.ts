import type { JobId } from "../ports/job.ts";
import type { Log } from "../ports/log.ts";
import type { Claimed, Settlement } from "../ports/store.ts";

/** At so many runs in a row that began and were given back it is said, and at each doubling. */
const SAID_FROM = 5;
/** The most jobs that are counted; the oldest give way. */
const JOBS_MAX = 1000;

/** Notices a job that begins again and again and spends no attempt: it could go on so for ever, and nobody would know. */
export class GivenBack {
  readonly #log: Log;
  readonly #counts = new Map<JobId, number>();

  /** Knows of none. */
  constructor(log: Log) {
    this.#log = log;
  }

  /** Notes the end of a run that had begun. */
  note({ id, kind, run }: Claimed, { to }: Settlement, reason: string): void {
    if (to !== "release") {
      if (this.#counts.size > 0) this.#counts.delete(id);
      return;
    }
    const times = (this.#counts.get(id) ?? 0) + 1;
    if (!this.#counts.has(id) && this.#counts.size >= JOBS_MAX) {
      this.#counts.delete(this.#counts.keys().next().value!);
    }
    this.#counts.set(id, times);
    if (times < SAID_FROM || !Number.isInteger(Math.log2(times / SAID_FROM))) return;
    this.#log.warn("job begins again and again and is given back each time, without an attempt spent", {
      jobId: id,
      kind,
      run,
      times,
      reason,
    });
  }
}
