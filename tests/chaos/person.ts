import { JobNotFoundError, JobRunningError, UniqueConflictError } from "../../ports/errors.ts";
import type { JobState, JobSummary } from "../../ports/job.ts";
import { FOLLOW } from "./changer.ts";
import { isPeriodic } from "./check/existence.ts";
import { PERIODS } from "./kinds.ts";
import { Loop } from "./loop.ts";
import { isOutage, type Shop } from "./producers.ts";
import type { Random } from "./random.ts";

const LOOKED_AT = 50;

/** Someone at the tasks panel who cancels, retries and runs periodics. */
export class Person extends Loop {
  readonly #shop: Shop;
  readonly #random: Random;

  constructor(shop: Shop, random: Random) {
    super();
    this.#shop = shop;
    this.#random = random;
  }

  protected async turn(): Promise<number> {
    await this.#act().catch((error) => this.#failed(error));
    return this.#random.integer(100, 900);
  }

  async #act(): Promise<void> {
    const random = this.#random;
    const action = random.next();
    if (action < 0.4) return await this.#cancel(random.pick(["pending", "running", "running", "retryable"]));
    if (action < 0.8) {
      return await this.#retry(random.pick(["discarded", "cancelled", "completed", "running"]));
    }
    await this.#runPeriodic(random.pick(Object.keys(PERIODS)));
  }

  async #cancel(state: JobState): Promise<void> {
    const job = await this.#one(state);
    // Nobody would follow the changes of its thing, and rightly so.
    if (job === null || job.kind.startsWith(FOLLOW)) return;
    this.#shop.journal.write({ what: "cancelling", id: job.id });
    const { result } = await this.#shop.runtime.cancel(job.id);
    this.#shop.journal.write({ what: "cancel", id: job.id, result });
  }

  async #retry(state: JobState): Promise<void> {
    const job = await this.#one(state);
    // An effect whose job has completed would be made again, and rightly so; one that runs may complete just now.
    const mayComplete = state === "completed" || state === "running";
    if (job === null || (mayComplete && job.kind.startsWith("effect"))) return;
    this.#shop.journal.write({ what: "retry", id: job.id });
    await this.#shop.runtime.retry(job.id);
  }

  async #runPeriodic(name: string): Promise<void> {
    const { runtime, journal } = this.#shop;
    let id: string | null = null;
    try {
      id = await runtime.runPeriodic(name);
    } finally {
      journal.write({ what: "run periodic", name, id });
    }
  }

  async #one(state: JobState): Promise<JobSummary | null> {
    const jobs = await this.#shop.runtime.list({ state, limit: LOOKED_AT });
    const mine = jobs.filter((job) => !isPeriodic(job.kind));
    return mine.length === 0 ? null : this.#random.pick(mine);
  }

  #failed(error: unknown): void {
    if (isOutage(error)) return;
    if (error instanceof JobRunningError || error instanceof JobNotFoundError) return;
    if (error instanceof UniqueConflictError) return;
    this.#shop.journal.write({ what: "odd", text: String((error as Error).stack ?? error) });
  }
}
