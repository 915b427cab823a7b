import type { Inserted, NewJob, Store } from "../ports/store.ts";
import { isRefusal } from "../shared/outage.ts";

/** The most rows of one insert. */
const ROWS_MAX = 1000;
/** The most args of one insert, in characters: large args gain nothing from company. */
const ARGS_LENGTH_MAX = 4 * 1024 * 1024;
/** Inserts that are under way at once. Two, so that the next is sent while the database writes the first. */
const FLIGHTS_MAX = 2;

/** A job that was written. */
export interface Gathered extends Inserted {
  /** Its queue was signalled with its commit; otherwise that is still to be done. */
  readonly signalled: boolean;
}

interface Waiting {
  readonly job: NewJob;
  readonly resolve: (gathered: Gathered) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Gathers concurrent single enqueues of this process into multi-row inserts: one statement and one commit for all
 * of a tick, and for all that arrive while earlier ones are under way. Each call resolves after its own commit. What is due
 * now takes its signal along, when this process may send one now.
 */
export class Gatherer {
  readonly #store: Store;
  readonly #takeSignal: () => boolean;
  #waiting: Waiting[] = [];
  #flights = 0;
  #scheduled = false;

  /** `takeSignal` says whether a signal may be sent now, which then counts as sent. */
  constructor(store: Store, takeSignal: () => boolean) {
    this.#store = store;
    this.#takeSignal = takeSignal;
  }

  /** Inserts one job that has no unique key. */
  insert(job: NewJob): Promise<Gathered> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ job, resolve, reject });
      this.#schedule();
    });
  }

  #schedule(): void {
    if (this.#scheduled || this.#flights >= FLIGHTS_MAX || this.#waiting.length === 0) return;
    this.#scheduled = true;
    queueMicrotask(() => {
      this.#scheduled = false;
      this.#flights++;
      this.#send(this.#take()).finally(() => {
        this.#flights--;
        this.#schedule();
      });
      this.#schedule();
    });
  }

  #take(): Waiting[] {
    let length = 0;
    let count = 0;
    while (count < this.#waiting.length && count < ROWS_MAX) {
      length += this.#waiting[count]!.job.args.length;
      if (count > 0 && length > ARGS_LENGTH_MAX) break;
      count++;
    }
    return this.#waiting.splice(0, count);
  }

  async #send(batch: readonly Waiting[]): Promise<void> {
    try {
      const jobs = batch.map((waiting) => waiting.job);
      const signalled = jobs.every((job) => job.runAt === null) && this.#takeSignal();
      const inserted = signalled ? await this.#store.insertAndSignal(jobs) : await this.#store.insert(jobs);
      batch.forEach((waiting, index) => waiting.resolve({ ...inserted[index]!, signalled }));
    } catch (error) {
      // Only a refusal is known to have stored nothing. Anything else may have committed: no silent retry.
      if (batch.length > 1 && isRefusal(error)) {
        for (const waiting of batch) await this.#send([waiting]);
      } else {
        for (const waiting of batch) waiting.reject(error);
      }
    }
  }
}
