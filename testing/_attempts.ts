import type { MemoryStore } from "../adapters/memory/memory_store.ts";
import type { AttemptOutcome, Executor } from "../ports/executor.ts";
import type { Handler } from "../ports/handler.ts";
import type { JobId } from "../ports/job.ts";
import type { Kind } from "../ports/kind.ts";
import type { Claimed } from "../ports/store.ts";
import { settlementOf } from "../runtime/_outcome.ts";
import { moduleSpecifier } from "../workers/module_specifier.ts";

/** The id under which the store knows a test's only process. */
export const OWNER: string = "test";

/** Runs single attempts, one after another, in the test's own thread. */
export class Attempts {
  readonly #store: MemoryStore;
  readonly #executor: Executor;
  readonly #kinds: ReadonlyMap<string, Kind>;
  readonly #loaded = new Map<string, Promise<Handler>>();

  constructor(store: MemoryStore, executor: Executor, kinds: ReadonlyMap<string, Kind>) {
    this.#store = store;
    this.#executor = executor;
    this.#kinds = kinds;
  }

  /** Claims the first due job of a queue and runs it. Null when there is none. */
  async next(queue: string): Promise<string | null> {
    const [job] = await this.#store.claim({ owner: OWNER, queue, limit: 1, free: 1 });
    if (job === undefined) return null;
    await this.#attempt(job, queue);
    return job.id;
  }

  /** Claims one job, whatever else waits, and runs it. */
  async one(id: JobId): Promise<void> {
    const queue = (await this.#store.get(id))?.queue;
    const job = await this.#store.claimOne(OWNER, id);
    if (job === null || queue === undefined) throw new Error(`Cannot run job ${id}: it does not wait`);
    await this.#attempt(job, queue);
  }

  async #attempt(job: Claimed, queue: string): Promise<void> {
    const kind = this.#kinds.get(job.kind);
    if (kind === undefined) throw new Error(`Cannot run job ${job.id}: its kind ${job.kind} is not declared`);
    const outcome = await this.#run(job, kind, queue);
    // The middle of the jitter, so that delays are reproducible.
    const settlement = settlementOf(job, kind, outcome, { aborted: false, random: 0.5 });
    await this.#store.settle([settlement]);
  }

  async #run(job: Claimed, kind: Kind, queue: string): Promise<AttemptOutcome> {
    const handler = await this.#handlerOf(kind);
    const { isolation: _i, permissions: _p, memory: _m, ownThread: _o, ...rest } = kind;
    const { promise, resolve } = Promise.withResolvers<AttemptOutcome>();
    this.#executor.run({ ...job, queue, kind: { ...rest, handler } }, {
      progress: (done, note) =>
        void this.#store.progress([{ id: job.id, run: job.run, done, note: note ?? null }]),
      ended: resolve,
    });
    return await promise;
  }

  /** Loads handler modules into the test's own thread, where the test can inspect what they import. */
  #handlerOf(kind: Kind): Promise<Handler> {
    const { handler } = kind;
    if (typeof handler === "function") return Promise.resolve(handler);
    const specifier = moduleSpecifier(handler);
    let loaded = this.#loaded.get(specifier);
    if (loaded === undefined) this.#loaded.set(specifier, loaded = load(specifier));
    return loaded;
  }
}

async function load(specifier: string): Promise<Handler> {
  const { default: handler }: { default?: unknown } = await import(specifier);
  if (typeof handler === "function") return handler as Handler;
  throw new TypeError(
    `Cannot run ${specifier}: its default export is ${typeof handler}, expected a function`,
  );
}
