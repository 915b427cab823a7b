import { createMemoryStore, type MemoryStore } from "../adapters/memory/memory_store.ts";
import type { MemoryTx } from "../adapters/memory/memory_tx.ts";
import type { RecordingRuntime } from "../assembly/common.ts";
import { createMemoryRuntime } from "../assembly/create_memory_runtime.ts";
import type { ArgsInput } from "../ports/args_schema.ts";
import type { Executor } from "../ports/executor.ts";
import type { JobDetail, JobId } from "../ports/job.ts";
import type { EnqueueOptions } from "../ports/jobs.ts";
import type { Json } from "../ports/json.ts";
import type { Queue } from "../ports/kind.ts";
import { DELAY_MS_MAX } from "../ports/limits.ts";
import type { Log } from "../ports/log.ts";
import type { RegistrarInput } from "../ports/registrar.ts";
import type { TypedKind } from "../ports/typed_kind.ts";
import { LOG, silentLog } from "../shared/log.ts";
import { checkOptions, type Options, UNCHECKED } from "../shared/options.ts";
import { createExecutor } from "../workers/executor.ts";
import { Attempts, OWNER } from "./_attempts.ts";

/** What a {@linkcode TestBench} is made of. */
export interface TestBenchOptions {
  /** What is under test: one or more domains. */
  readonly registrars: readonly RegistrarInput[];
  /** The queue table, as of a runtime. */
  readonly queues?: readonly Queue[];
  /** Where its clock begins. Default the time of the call. */
  readonly now?: Date;
  /** Default silent. */
  readonly log?: Log;
}

/** How {@linkcode TestBench.drain} drains. */
export interface DrainOptions {
  /** Whether the clock is moved on to what is scheduled, snoozed or to be tried again, until nothing waits. Default false. */
  readonly scheduled?: boolean;
}

const OPTIONS: Options<TestBenchOptions> = {
  registrars: UNCHECKED,
  queues: UNCHECKED,
  now: {
    expected: "a valid Date",
    accepts: (now) => now instanceof Date && !Number.isNaN(now.getTime()),
  },
  log: LOG,
};

/** The most runs of one drain: a job that enqueues itself would never end. */
const RUNS_MAX = 10_000;

/**
 * Jobs in a unit test: a runtime in memory that runs nothing by itself, on a clock that stands until the test moves it.
 * Handlers run in the test's own thread, modules too, one at a time, first priority first.
 */
export class TestBench implements AsyncDisposable {
  /** Hand it to the code under test. Don't start it: {@linkcode drain} and {@linkcode perform} run what it was given. */
  readonly runtime: RecordingRuntime;
  readonly #store: MemoryStore;
  readonly #executor: Executor;
  readonly #attempts: Attempts;
  readonly #queues: readonly string[];
  #nowMs: number;
  #registered: Promise<void> | undefined;

  /** Use {@linkcode createTestBench}. */
  constructor(options: TestBenchOptions) {
    checkOptions("a test bench", options, OPTIONS);
    const { registrars, queues, log = silentLog } = options;
    this.#nowMs = (options.now ?? new Date()).getTime();
    this.#store = createMemoryStore({ clock: () => this.#nowMs });
    this.runtime = createMemoryRuntime({
      store: this.#store,
      registrars,
      ...(queues === undefined ? {} : { queues }),
      log,
    });
    const { composition } = this.runtime;
    this.#queues = [...composition.queues.keys()];
    this.#executor = createExecutor({ completion: this.#store.completion, log });
    this.#executor.start({ onThreadLost: () => {}, jobs: this.runtime });
    this.#attempts = new Attempts(this.#store, this.#executor, composition.kinds);
  }

  /** The time on its clock. */
  now(): Date {
    return new Date(this.#nowMs);
  }

  /** Moves its clock on by so many ms. Nothing runs before {@linkcode drain}. */
  advance(ms: number): void {
    if (typeof ms !== "number" || !(ms >= 0 && ms <= DELAY_MS_MAX)) {
      throw new RangeError(`Cannot move the clock by ${ms} ms: expected 0 to ${DELAY_MS_MAX}`);
    }
    this.#nowMs += ms;
  }

  /** Begins a transaction, for code that takes one: `jobs.with(tx)`, `ctx.completeIn(tx)`. */
  begin(): MemoryTx {
    return this.#store.begin();
  }

  /** The jobs that wait, scheduled ones included, of one kind or of all, oldest first. */
  async enqueued(kind?: string | TypedKind): Promise<JobDetail[]> {
    const name = typeof kind === "object" ? kind.name : kind;
    const found = await this.#store.list({ limit: Infinity, ...(name === undefined ? {} : { kind: name }) });
    const waiting = found.filter(({ state }) => state === "pending" || state === "retryable").reverse();
    return await Promise.all(waiting.map(async ({ id }) => (await this.#store.get(id))!));
  }

  /**
   * Runs jobs until none is due, those that they enqueue included, and returns each job that it ran as it stands then, in
   * the order of its first run.
   *
   * @throws {Error} after 10,000 runs.
   */
  async drain(options: DrainOptions = {}): Promise<JobDetail[]> {
    await this.#register();
    const ids = new Set<JobId>();
    for (let runs = 0;;) {
      const id = await this.#runNext();
      if (id !== null) {
        ids.add(id);
        if (++runs > RUNS_MAX) throw new Error(`Cannot drain: ${RUNS_MAX} runs did not come to an end`);
        continue;
      }
      const nextMs = options.scheduled === true ? await this.#nextDueMs() : null;
      if (nextMs === null) break;
      this.#nowMs += nextMs;
    }
    return await Promise.all([...ids].map(async (id) => (await this.#store.get(id))!));
  }

  /**
   * Enqueues one job and makes its first attempt at once, whatever else waits and whether its queue is paused. Returns the
   * job as it stands then.
   */
  perform<K extends TypedKind>(
    kind: K,
    args: ArgsInput<K["args"]>,
    options?: PerformOptions,
  ): Promise<JobDetail>;
  /** The same by the kind's name. */
  perform(kind: string, args?: Json, options?: PerformOptions): Promise<JobDetail>;
  /** The same. */
  async perform(kind: string | TypedKind, args?: unknown, options: PerformOptions = {}): Promise<JobDetail> {
    await this.#register();
    const name = typeof kind === "object" ? kind.name : kind;
    const id = await this.runtime.enqueue(name, args as Json, options);
    await this.#attempts.one(id);
    return (await this.#store.get(id))!;
  }

  /** Ends it. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#executor.stop();
    await this.runtime.stop();
  }

  async #runNext(): Promise<JobId | null> {
    for (const queue of this.#queues) {
      const id = await this.#attempts.next(queue);
      if (id !== null) return id;
    }
    return null;
  }

  async #nextDueMs(): Promise<number | null> {
    const paused = new Set((await this.#store.counts()).paused.map(({ queue }) => queue));
    const due = await Promise.all(
      this.#queues.filter((queue) => !paused.has(queue)).map((queue) => this.#store.nextDue(queue)),
    );
    const known = due.filter((ms) => ms !== null);
    return known.length === 0 ? null : Math.min(...known);
  }

  #register(): Promise<void> {
    return this.#registered ??= this.#store.register({ id: OWNER, name: OWNER, queues: this.#queues });
  }
}

/** How {@linkcode TestBench.perform} enqueues. */
export type PerformOptions = Pick<EnqueueOptions, "priority">;

/**
 * Makes a bench for unit tests.
 *
 * @throws {CompositionError} naming every fault of the composition at once.
 *
 * @example
 * ```ts ignore
 * await using bench = createTestBench({ registrars: [orders] });
 * await placeOrder(bench.runtime, { id: "1" });
 * assertEquals((await bench.enqueued("order.mail")).map((job) => job.args), [{ orderId: "1" }]);
 * const [mail] = await bench.drain();
 * assertEquals(mail.state, "completed");
 * ```
 */
export function createTestBench(options: TestBenchOptions): TestBench {
  return new TestBench(options);
}
