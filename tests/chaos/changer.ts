import type { JobId } from "../../ports/job.ts";
import { pause } from "../conformance/eventually.ts";
import type { Step } from "./handlers/act.ts";
import { Loop } from "./loop.ts";
import { noteUnexpected, type Shop } from "./producers.ts";
import type { Random } from "./random.ts";
import { inTransaction } from "./transaction.ts";

/** Begins the names of the kinds that follow things. */
export const FOLLOW = "follow";

const KINDS = [FOLLOW, `${FOLLOW}.calm`];
/** So few that most offers find a twin. */
const THINGS = 12;
const RETURN: Step = { do: "return" };

/** Changes things, and offers a job that follows in the same transaction: through the runtime, or by SQL alone. */
export class Changer extends Loop {
  readonly #shop: Shop;
  readonly #random: Random;
  #count = 0;

  constructor(shop: Shop, random: Random) {
    super();
    this.#shop = shop;
    this.#random = random;
  }

  protected async turn(): Promise<number> {
    await this.#change(this.#random.chance(0.8)).catch((error) => this.#failed(error));
    return this.#random.integer(10, 300);
  }

  async #change(commits: boolean): Promise<void> {
    const { url, schema, journal } = this.#shop;
    const random = this.#random;
    const kind = random.pick(KINDS);
    const thing = `${kind} ${random.integer(1, THINGS)}`;
    const steps = random.chance(0.7)
      ? [RETURN]
      : random.chance(0.5)
      ? [{ do: "throw" }, RETURN]
      : [{ do: "snooze", ms: 400, chance: 0.5 }, RETURN];
    const args = { tag: `change ${++this.#count}`, thing, ms: random.integer(0, 250), steps };
    const bySql = random.chance(0.3);
    const waitMs = random.chance(0.2) ? random.integer(100, 1500) : 0;
    let offered: { id: JobId; added: boolean } | undefined;
    await inTransaction(url, async (tx) => {
      const change = `insert into ${schema}.chaos_change (kind, thing) values ($1::text, $2::text)`;
      await tx.unsafe(change, [kind, thing]);
      if (bySql) {
        const sql = `select ${schema}.enqueue($1::text, $2::text::jsonb)`;
        await tx.unsafe(sql, [kind, JSON.stringify(args)]);
      } else offered = await this.#shop.runtime.with(tx).offer(kind, args);
      // Its run must wait for this.
      if (waitMs > 0) await pause(waitMs);
      return commits;
    });
    if (offered === undefined) return;
    if (commits) journal.write({ what: "enqueued", id: offered.id });
    else if (offered.added) journal.write({ what: "rolled back", id: offered.id });
  }

  #failed(error: unknown): void {
    noteUnexpected(this.#shop.journal, error);
  }
}
