import type { EventDraft } from "../../ports/event.ts";
import { pause } from "../conformance/eventually.ts";
import { EVENT_TYPES } from "./events.ts";
import { Loop } from "./loop.ts";
import { noteUnexpected, type Shop } from "./producers.ts";
import type { Random } from "./random.ts";
import { inTransaction } from "./transaction.ts";

/** Begins the tags of events that belong to a row of their transaction. */
export const FACT = "fact of ";

const SUBJECTS = 8;

/** Records events, one transaction after the other, until it is told to stop. */
export class EventRecorder extends Loop {
  readonly #shop: Shop;
  readonly #random: Random;
  readonly #name: string;
  #count = 0;

  constructor(shop: Shop, random: Random, name: string) {
    super();
    this.#shop = shop;
    this.#random = random;
    this.#name = name;
  }

  protected async turn(): Promise<number> {
    await this.#record().catch((error) => this.#failed(error));
    return this.#random.integer(20, 300);
  }

  async #record(): Promise<void> {
    const random = this.#random;
    if (random.chance(0.8)) return await this.#withFacts(random.chance(0.7));
    const { runtime, journal } = this.#shop;
    const event = await runtime.recorder.record(this.#draft("alone "));
    journal.write({ what: "recorded", event });
  }

  /** The facts and their events exist together or not at all; at the end the tables tell, whatever the answer was. */
  async #withFacts(commits: boolean): Promise<void> {
    const { runtime, url, schema, journal } = this.#shop;
    const random = this.#random;
    const events: string[] = [];
    await inTransaction(url, async (tx) => {
      const recorder = runtime.recorder.with(tx);
      const drafts = Array.from({ length: random.integer(1, 4) }, () => this.#draft(FACT));
      if (random.chance(0.5)) events.push(...await recorder.recordMany(drafts));
      else for (const draft of drafts) events.push(await recorder.record(draft));
      for (const { data } of drafts) {
        const { tag } = data as { readonly tag: string };
        await tx.unsafe(`insert into ${schema}.chaos_fact (tag) values ($1::text)`, [tag]);
      }
      // Others commit meanwhile, and a relay that went on from the newest event would pass these by.
      if (random.chance(0.2)) await pause(random.integer(100, 2000));
      return commits;
    });
    for (const event of events) journal.write({ what: commits ? "recorded" : "not recorded", event });
  }

  #draft(prefix: string): EventDraft {
    const random = this.#random;
    return {
      type: random.pick(EVENT_TYPES).type,
      subject: `subject ${random.integer(1, SUBJECTS)}`,
      data: { tag: `${prefix}${this.#name} ${++this.#count}`, ms: random.integer(0, 150) },
    };
  }

  #failed(error: unknown): void {
    noteUnexpected(this.#shop.journal, error);
  }
}
