import { errorText } from "../ports/error_text.ts";
import type { JobId } from "../ports/job.ts";
import type { Log } from "../ports/log.ts";
import type { Claimed } from "../ports/store.ts";

/** What {@linkcode HeldJobs} need. */
export interface HeldJobsOptions {
  /** Puts the starts of jobs on record. */
  readonly record: (jobs: readonly Claimed[]) => Promise<void>;
  /** Whether jobs may still start once that is done. */
  readonly goesOn: () => boolean;
  /** Gives jobs back that are not to start. */
  readonly giveBack: (jobs: readonly Claimed[]) => void;
  /** Told when starts are on record, or could not be. */
  readonly onRecorded: () => void;
  /** For what goes wrong. */
  readonly log: Log;
}

/**
 * Jobs that were claimed ahead of free slots, the oldest first:
 *
 *     add() --> buffered --record()--> recording --> recorded --next()--> starts
 *                  |                       |             |
 *                  +-- given back          |             +-- given back
 *                                          +-- cancelled, refused, or too late: given back
 *
 * None of them holds a slot. A start is on record before the handler begins, so that a job which kills the process pays
 * for it, and its neighbours in the buffer do not.
 */
export class HeldJobs {
  readonly #options: HeldJobsOptions;
  #buffered: Claimed[] = [];
  #recording: readonly Claimed[] = [];
  #recorded: Claimed[] = [];
  readonly #cancelled = new Set<JobId>();

  /** Holds none. */
  constructor(options: HeldJobsOptions) {
    this.#options = options;
  }

  /** How many there are. */
  get size(): number {
    return this.idle + this.#recording.length;
  }

  /** How many there are beside those whose start is being recorded. */
  get idle(): number {
    return this.#buffered.length + this.#recorded.length;
  }

  /** How many may start now. */
  get ready(): number {
    return this.#recorded.length;
  }

  /** The jobs. */
  *ids(): Iterable<JobId> {
    for (const jobs of [this.#buffered, this.#recorded, this.#recording]) yield* jobs.map(({ id }) => id);
  }

  /** One more was claimed ahead. */
  add(job: Claimed): void {
    this.#buffered.push(job);
  }

  /** The next one that starts. There has to be one that is ready. */
  next(): Claimed {
    return this.#recorded.shift()!;
  }

  /** Puts the starts of so many on record, one statement at a time. */
  async record(count: number): Promise<void> {
    if (count <= 0 || this.#buffered.length === 0 || this.#recording.length > 0) return;
    const { record, goesOn, giveBack, onRecorded, log } = this.#options;
    const batch = this.#recording = this.#buffered.splice(0, count);
    let isRecorded = false;
    try {
      await record(batch);
      isRecorded = true;
    } catch (error) {
      log.warn("starts not recorded, the jobs go back in line", { error: errorText(error) });
    }
    // Abandoned meanwhile: the fence has them.
    if (this.#recording !== batch) return;
    this.#recording = [];
    const starts = isRecorded && goesOn() ? batch.filter(({ id }) => !this.#cancelled.has(id)) : [];
    giveBack(starts.length === batch.length ? [] : batch.filter((job) => !starts.includes(job)));
    this.#cancelled.clear();
    this.#recorded.push(...starts);
    onRecorded();
  }

  /** A cancel is requested. Gives it back, now or once its start is on record. */
  cancel(id: JobId): void {
    if (this.#recording.some((job) => job.id === id)) this.#cancelled.add(id);
    for (const held of [this.#buffered, this.#recorded]) {
      const index = held.findIndex((job) => job.id === id);
      if (index >= 0) return this.#options.giveBack(held.splice(index, 1));
    }
  }

  /** Gives all back; those whose start is being recorded follow if it does not go on by then. */
  giveBackAll(): void {
    this.#options.giveBack(this.#buffered.splice(0));
    this.#options.giveBack(this.#recorded.splice(0));
  }

  /** Forgets all: they are others' now. */
  abandon(): void {
    this.#buffered = [];
    this.#recording = [];
    this.#recorded = [];
    this.#cancelled.clear();
  }
}
