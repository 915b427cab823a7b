import type { JobId } from "../../ports/job.ts";
import type { CancelResult, EnqueueOptions, EnqueueRequest, Jobs, Offered } from "../../ports/jobs.ts";
import type { Json, JsonInput } from "../../ports/json.ts";
import { checkTx, type Tx, watchTransaction } from "../../ports/tx.ts";
import { enqueueManyOrder, type JobOrder, offerOrder } from "./job_order.ts";

/** What {@linkcode RemoteJobs} need. */
export interface RemoteJobsOptions {
  /**
   * Has the process that the handler belongs to carry an order out. Where there is a transaction, that process sends its
   * statements back to be run in it.
   */
  readonly place: (order: JobOrder, tx: Tx | null) => Promise<Json>;
  /** The statement that names the open transaction; null where the store has none that a handler could share. */
  readonly transaction: string | null;
}

/** The jobs of a handler in a thread or a host process. */
export class RemoteJobs implements Jobs {
  readonly #options: RemoteJobsOptions;
  readonly #tx: Tx | null;

  /** Works in a transaction of the handler's where there is one. */
  constructor(options: RemoteJobsOptions, tx: Tx | null = null) {
    this.#options = options;
    this.#tx = tx;
  }

  /** As {@linkcode Jobs.with} says. */
  with(tx: Tx): Jobs {
    checkTx(tx, "work");
    if (this.#options.transaction === null) {
      throw new TypeError("Cannot work in this transaction: the store has none that a handler could share");
    }
    return new RemoteJobs(this.#options, tx);
  }

  /** As {@linkcode Jobs.enqueue} says. */
  async enqueue(kind: string, args?: JsonInput, options?: EnqueueOptions): Promise<JobId> {
    return (await this.offer(kind, args, options)).id;
  }

  /** As {@linkcode Jobs.offer} says. */
  async offer(kind: string, args?: JsonInput, options?: EnqueueOptions): Promise<Offered> {
    return await this.#place(offerOrder(kind, args, options)) as unknown as Offered;
  }

  /** As {@linkcode Jobs.enqueueMany} says. */
  async enqueueMany(requests: readonly EnqueueRequest[]): Promise<JobId[]> {
    return await this.#place(enqueueManyOrder(requests)) as string[];
  }

  /** As {@linkcode Jobs.cancel} says. */
  async cancel(id: JobId): Promise<CancelResult> {
    return await this.#place({ method: "cancel", params: [id] }) as unknown as CancelResult;
  }

  /**
   * The order makes its way to the other side and back before the first statement can be sent. So it is noted at once which
   * transaction is open, and the statements are for that one alone.
   */
  async #place(order: JobOrder): Promise<Json> {
    const tx = this.#tx;
    if (tx === null) return await this.#options.place(order, null);
    const assertOpen = watchTransaction(tx, this.#options.transaction!);
    return await this.#options.place(order, {
      unsafe: async (text, params, options) => {
        await assertOpen();
        return await tx.unsafe(text, params, options);
      },
    });
  }
}
