import {
  type CancelResult,
  checkTx,
  type Composition,
  type EnqueueOptions,
  type EnqueueRequest,
  type JobId,
  type Jobs,
  type Json,
  type NewJob,
  type Store,
  type Tx,
} from "../ports/mod.ts";
import { checkJobId, newJob, newJobs, requestOf } from "./_requests.ts";

/** Enqueues and cancels inside one open transaction of the caller's. */
export class JobsInTransaction implements Jobs {
  readonly #store: Store;
  readonly #composition: Composition;
  readonly #tx: Tx;

  constructor(store: Store, composition: Composition, tx: Tx) {
    checkTx(tx, "work");
    this.#store = store;
    this.#composition = composition;
    this.#tx = tx;
  }

  with(tx: Tx): Jobs {
    return new JobsInTransaction(this.#store, this.#composition, tx);
  }

  async enqueue(kind: string, args?: Json, options?: EnqueueOptions): Promise<JobId> {
    const job = newJob(this.#composition, requestOf(kind, args, options));
    const [id] = await this.#insert([job instanceof Promise ? await job : job]);
    return id!;
  }

  async enqueueMany(requests: readonly EnqueueRequest[]): Promise<JobId[]> {
    return await this.#insert(await newJobs(this.#composition, requests));
  }

  async cancel(id: JobId): Promise<CancelResult> {
    checkJobId(id);
    return await this.#store.cancel(id, this.#tx);
  }

  async #insert(jobs: readonly NewJob[]): Promise<JobId[]> {
    if (jobs.length === 0) return [];
    return (await this.#store.insert(jobs, this.#tx)).map((inserted) => inserted.id);
  }
}
