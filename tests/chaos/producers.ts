import type { PostgresRuntime } from "../../mod.ts";
import {
  ConnectionTimeoutError,
  DatabaseUnavailableError,
  IdSequenceBehindError,
  StatementTimeoutError,
  UniqueKeyHeldError,
} from "../../ports/errors.ts";
import type { JobId } from "../../ports/job.ts";
import type { EnqueueOptions, EnqueueRequest } from "../../ports/jobs.ts";
import type { Json } from "../../ports/json.ts";
import { pause } from "../conformance/eventually.ts";
import type { Step } from "./handlers/act.ts";
import type { JournalWriter } from "./journal.ts";
import { Loop } from "./loop.ts";
import { ORDER } from "./order.ts";
import type { Random } from "./random.ts";
import { inTransaction } from "./transaction.ts";

/** Where producers enqueue. */
export interface Shop {
  /** Never started: it enqueues, waits and looks. */
  readonly runtime: PostgresRuntime;
  /** The database, through the producers' own proxy. */
  readonly url: string;
  /** The schema. */
  readonly schema: string;
  /** Where every answer is written down. */
  readonly journal: JournalWriter;
}

/** The args of the handler as JSON. */
interface JobArgs {
  readonly [key: string]: Json;
  readonly tag: string;
  readonly ms: number;
}

/** How a kind's jobs are made. */
interface Recipe {
  readonly kind: string;
  readonly weight: number;
  steps(random: Random): readonly Step[];
}

const RETURN: Step = { do: "return" };
/** How many keys the unique jobs of a run share. */
const KEYS = 40;
const BULK_MAX = 20;
/** How long one wait for a job's end may take, in ms. */
const WAIT_MS = 3000;

const flaky = (random: Random): readonly Step[] =>
  random.chance(0.6)
    ? [RETURN]
    : random.chance(0.5)
    ? [{ do: "throw" }, { do: "throw" }, RETURN]
    : random.chance(0.6)
    ? [{ do: "snooze", ms: random.integer(0, 600), chance: 0.6 }]
    : random.chance(0.5)
    ? [{ do: "block", blockMs: random.integer(50, 400) }]
    : [{ do: "throw" }, { do: "discard" }];
const effect = (random: Random): readonly Step[] => [
  ...(random.chance(0.3) ? [{ do: "complete in", commit: false } as const] : []),
  { do: "complete in", commit: true, ...(random.chance(0.5) ? { next: true } : {}) },
];
const wild = (random: Random): readonly Step[] => [
  { do: random.pick(["exit", "reject", "timer", "throw"] as const) },
  { do: random.pick(["exit", "reject", "timer", "return", "return"] as const) },
];

const RECIPES: readonly Recipe[] = [
  { kind: "steady", weight: 30, steps: flaky },
  { kind: "steady.host", weight: 12, steps: flaky },
  { kind: "steady.inline", weight: 6, steps: () => [RETURN] },
  { kind: "effect", weight: 10, steps: effect },
  { kind: "effect.host", weight: 5, steps: effect },
  { kind: "wild", weight: 3, steps: wild },
  { kind: "wild.host", weight: 3, steps: wild },
  { kind: "slow", weight: 0.6, steps: () => [{ do: "hang" }, RETURN] },
  { kind: "slow", weight: 0.25, steps: () => [{ do: "spin" }, RETURN] },
  { kind: "slow.host", weight: 0.5, steps: () => [{ do: "spin" }, RETURN] },
  { kind: "hungry", weight: 0.5, steps: () => [{ do: "allocate" }, RETURN] },
  { kind: "bomb", weight: 0.3, steps: () => [{ do: "bomb" }, RETURN] },
];

/** Whether an answer is one of those that an outage may give. */
export function isOutage(error: unknown): boolean {
  return error instanceof DatabaseUnavailableError || error instanceof ConnectionTimeoutError ||
    error instanceof StatementTimeoutError || error instanceof UniqueKeyHeldError;
}

/** Whether a transaction met an id that is taken: the sequence has been moved, and it may be run again. */
export function isIdTaken(error: unknown): boolean {
  return error instanceof IdSequenceBehindError && error.isMended;
}

/** The same for a transaction: its connection is the producer's own, and breaks as the driver says. */
function isExpected(error: unknown): boolean {
  return isOutage(error) || isIdTaken(error) || Reflect.has(error as Error, "code") ||
    isBrokenTransaction(error);
}

/** Writes down what no contract knows of a producer's answers. */
export function noteUnexpected(journal: JournalWriter, error: unknown): void {
  if (isExpected(error)) return;
  journal.write({ what: "odd", text: String((error as Error).stack ?? error) });
}

/** Enqueues in every way, one after the other, until it is told to stop. */
export class Producer extends Loop {
  readonly #shop: Shop;
  readonly #random: Random;
  readonly #name: string;
  readonly #waits = new Set<Promise<void>>();
  #count = 0;

  constructor(shop: Shop, random: Random, name: string) {
    super();
    this.#shop = shop;
    this.#random = random;
    this.#name = name;
  }

  /** Enqueues no more, and resolves when all answers are there. */
  override async stop(): Promise<void> {
    await super.stop();
    await Promise.all(this.#waits);
  }

  protected async turn(): Promise<number> {
    await this.#enqueue().catch((error) => this.#failed(error));
    return this.#random.integer(10, 200);
  }

  async #enqueue(): Promise<void> {
    const random = this.#random;
    const way = random.next();
    if (way < 0.4) return await this.#single();
    if (way < 0.5) return await this.#bulk();
    if (way < 0.65) return await this.#unique();
    await this.#order(random.chance(0.7));
  }

  async #single(): Promise<void> {
    const { kind, args } = this.#request();
    const id = await this.#shop.runtime.enqueue(kind, args, this.#options());
    this.#shop.journal.write({ what: "enqueued", id });
    if (this.#random.chance(0.2)) this.#wait(id);
  }

  async #bulk(): Promise<void> {
    const requests = Array.from({ length: this.#random.integer(2, BULK_MAX) }, (): EnqueueRequest => ({
      kind: "fast",
      args: { ...this.#args([RETURN]), ms: 0 },
      ...this.#options(),
    }));
    for (const id of await this.#shop.runtime.enqueueMany(requests)) {
      this.#shop.journal.write({ what: "enqueued", id });
    }
  }

  async #unique(): Promise<void> {
    const args = { tag: `key ${this.#random.integer(1, KEYS)}`, ms: 50, steps: [RETURN] };
    const enqueue = () => this.#shop.runtime.enqueue("steady", args, { uniqueByArgs: true });
    for (const id of await Promise.all(this.#random.chance(0.5) ? [enqueue(), enqueue()] : [enqueue()])) {
      this.#shop.journal.write({ what: "enqueued", id });
    }
  }

  /** The order and its jobs exist together or not at all; at the end the tables tell, whatever the answer was. */
  async #order(commits: boolean): Promise<void> {
    const { runtime, url, schema, journal } = this.#shop;
    const requests = Array.from({ length: this.#random.integer(1, 3) }, () => this.#request(ORDER));
    const ids: JobId[] = [];
    await inTransaction(url, async (tx) => {
      const jobs = runtime.with(tx);
      for (const { kind, args } of requests) {
        ids.push(await jobs.enqueue(kind, args));
        await tx.unsafe(`insert into ${schema}.chaos_order (tag) values ($1::text)`, [args.tag]);
      }
      if (this.#random.chance(0.1)) await pause(this.#random.integer(100, 1500));
      return commits;
    });
    for (const id of ids) journal.write({ what: commits ? "enqueued" : "rolled back", id });
  }

  #wait(id: JobId): void {
    const { runtime, journal } = this.#shop;
    const wait: Promise<void> = runtime.wait(id, WAIT_MS).then(
      (result) => {
        if (result.done) journal.write({ what: "waited", id, state: result.state });
      },
      (error) => this.#failed(error),
    ).finally(() => this.#waits.delete(wait));
    this.#waits.add(wait);
  }

  #request(prefix = ""): { kind: string; args: JobArgs } {
    const { kind, steps } = this.#random.weighted(RECIPES);
    return { kind, args: this.#args(steps(this.#random), prefix) };
  }

  #args(steps: readonly Step[], prefix = ""): JobArgs {
    const ms = this.#random.chance(0.05) ? this.#random.integer(1000, 6000) : this.#random.integer(0, 250);
    return { tag: `${prefix}${this.#name} ${++this.#count}`, ms, steps: steps as unknown as Json };
  }

  #options(): EnqueueOptions {
    const random = this.#random;
    return {
      ...(random.chance(0.1) ? { runAt: new Date(Date.now() + random.integer(-1000, 5000)) } : {}),
      ...(random.chance(0.2) ? { priority: random.pick([1, 3, 4] as const) } : {}),
    };
  }

  #failed(error: unknown): void {
    noteUnexpected(this.#shop.journal, error);
  }
}

function isBrokenTransaction(error: unknown): boolean {
  return (error as Error).message.startsWith("The connection of this transaction broke");
}
