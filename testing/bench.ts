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

/** Options for a {@linkcode TestBench}. */
export interface TestBenchOptions {
  /** The domains under test, one or more. */
  readonly registrars: readonly RegistrarInput[];
  /** The queue table, as for a runtime. */
  readonly queues?: readonly Queue[];
  /** The initial time of its clock. Default: the time of the call. */
  readonly now?: Date;
  /** The log. Default: silent. */
  readonly log?: Log;
}

/** Options for {@linkcode TestBench.drain}. */
export interface DrainOptions {
  /** Whether to advance the clock to scheduled, snoozed and retryable jobs until none waits. Default false. */
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

/** The maximum number of runs in one drain: a job that enqueues itself would never end. */
const RUNS_MAX = 10_000;

/**
 * Runs jobs in a unit test: a runtime in memory that runs nothing on its own, with a clock that only the test advances.
 * Handlers, including handler modules, run in the test's own thread, one at a time, by priority.
 */
export class TestBench implements AsyncDisposable {
  /**
   * The runtime to pass to the code under test. Don't start it: {@linkcode drain} and {@linkcode perform} run its jobs.
   */
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

  /** Returns its clock's current time. */
  now(): Date {
    return new Date(this.#nowMs);
  }

  /** Advances its clock by `ms`. Nothing runs before {@linkcode drain}. */
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

  /** Returns the waiting jobs, including scheduled ones, of one kind or of all, oldest first. */
  async enqueued(kind?: string | TypedKind): Promise<JobDetail[]> {
    const name = typeof kind === "object" ? kind.name : kind;
    const found = await this.#store.list({ limit: Infinity, ...(name === undefined ? {} : { kind: name }) });
    const waiting = found.filter(({ state }) => state === "pending" || state === "retryable").reverse();
    return await Promise.all(waiting.map(async ({ id }) => (await this.#store.get(id))!));
  }

  /**
   * Runs jobs, including those that they enqueue, until none is due. Returns each job that ran, as it is afterwards, in
   * the order of their first runs.
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
   * Enqueues one job and runs its first attempt immediately, regardless of other waiting jobs and of a paused queue.
   * Returns the job's details after the attempt.
   */
  perform<K extends TypedKind>(
    kind: K,
    args: ArgsInput<K["args"]>,
    options?: PerformOptions,
  ): Promise<JobDetail>;
  /** The same, by the kind's name. */
  perform(kind: string, args?: Json, options?: PerformOptions): Promise<JobDetail>;
  /** The same. */
  async perform(kind: string | TypedKind, args?: unknown, options: PerformOptions = {}): Promise<JobDetail> {
    await this.#register();
    const name = typeof kind === "object" ? kind.name : kind;
    const id = await this.runtime.enqueue(name, args as Json, options);
    await this.#attempts.one(id);
    return (await this.#store.get(id))!;
  }

  /** Ends the bench. */
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

/** Options for {@linkcode TestBench.perform}. */
export type PerformOptions = Pick<EnqueueOptions, "priority">;

/**
 * Creates a test bench for unit tests.
 *
 * @throws {CompositionError} listing every fault of the composition at once.
 *
 * @example
 * ```ts
 * await using bench = createTestBench({ registrars: [orders] });
 * await placeOrder(bench.runtime, { id: "1" });
 * assertEquals((await bench.enqueued("order.mail")).map((job) => job.args), [{ orderId: "1" }]);
 * const [mail] = await bench.drain();
 * assertEquals(mail!.state, "completed");
 * ```
 */
export function createTestBench(options: TestBenchOptions): TestBench {
  return new TestBench(options);
}
