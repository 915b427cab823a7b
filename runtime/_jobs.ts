import {
  type CancelResult,
  checkTx,
  type Composition,
  type EnqueueOptions,
  type EnqueueRequest,
  type JobId,
  type Jobs,
  type Json,
  type Offered,
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
    return (await this.offer(kind, args, options)).id;
  }

  async offer(kind: string, args?: Json, options?: EnqueueOptions): Promise<Offered> {
    const job = newJob(this.#composition, requestOf(kind, args, options));
    const [inserted] = await this.#store.insert([job instanceof Promise ? await job : job], this.#tx);
    return { id: inserted!.id, added: !inserted!.existed };
  }

  async enqueueMany(requests: readonly EnqueueRequest[]): Promise<JobId[]> {
    const jobs = await newJobs(this.#composition, requests);
    if (jobs.length === 0) return [];
    return (await this.#store.insert(jobs, this.#tx)).map((inserted) => inserted.id);
  }

  async cancel(id: JobId): Promise<CancelResult> {
    checkJobId(id);
    return await this.#store.cancel(id, this.#tx);
  }
}
