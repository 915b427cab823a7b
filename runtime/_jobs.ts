import type { Composition } from "../ports/composition.ts";
import type { JobId } from "../ports/job.ts";
import type { CancelResult, EnqueueOptions, EnqueueRequest, Jobs, Offered } from "../ports/jobs.ts";
import type { JsonInput } from "../ports/json.ts";
import type { Store } from "../ports/store.ts";
import { checkTx, type Tx, watchTransaction } from "../ports/tx.ts";
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

  async enqueue(kind: string, args?: JsonInput, options?: EnqueueOptions): Promise<JobId> {
    return (await this.offer(kind, args, options)).id;
  }

  async offer(kind: string, args?: JsonInput, options?: EnqueueOptions): Promise<Offered> {
    const made = newJob(this.#composition, requestOf(kind, args, options));
    const job = made instanceof Promise ? await this.#whileOpen(made) : made;
    const [inserted] = await this.#store.insert([job], this.#tx);
    return { id: inserted!.id, added: !inserted!.existed };
  }

  async enqueueMany(requests: readonly EnqueueRequest[]): Promise<JobId[]> {
    const made = newJobs(this.#composition, requests);
    const jobs = made instanceof Promise ? await this.#whileOpen(made) : made;
    if (jobs.length === 0) return [];
    return (await this.#store.insert(jobs, this.#tx)).map((inserted) => inserted.id);
  }

  async cancel(id: JobId): Promise<CancelResult> {
    checkJobId(id);
    return await this.#store.cancel(id, this.#tx);
  }

  /** A schema that takes its time may be done when the transaction is over: then nothing may be sent through it any more. */
  async #whileOpen<T>(made: Promise<T>): Promise<T> {
    const { completion } = this.#store;
    if (completion === null) return await made;
    const assertOpen = watchTransaction(this.#tx, completion.transaction);
    const result = await made;
    await assertOpen();
    return result;
  }
}
