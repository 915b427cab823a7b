import { AssertionError } from "@std/assert";
import postgres from "postgres";
import { createRuntime, type PostgresRuntime } from "../../../mod.ts";
import type { JobDetail, JobId, JobState } from "../../../ports/job.ts";
import type { EnqueueOptions } from "../../../ports/jobs.ts";
import { eventually } from "../../conformance/eventually.ts";
import { Program } from "../../programs/program.ts";
import { testDatabaseUrl, uniqueSchema } from "../../support/test_database.ts";
import { type KindName, runtimeOptions, type WorkerConfig } from "../programs/composition.ts";
import type { Args } from "../programs/handlers/journaled.ts";
import { Gate } from "./gate.ts";
import { Journal } from "./journal.ts";

const DEADLINE_MS = 20_000;

/** How a {@linkcode Site} is opened. */
export interface SiteOptions {
  /** The database. Default that of the test run. */
  readonly url?: string;
  /** Where the workers and the test's runtime reach it. Default the same. */
  readonly through?: string;
  /** Passed on to every runtime. */
  readonly config?: Partial<WorkerConfig>;
}

/**
 * Where one test takes place: a schema of its own, a journal, a gate, worker programs in processes of their own, and a
 * runtime of the test that enqueues and looks and works nothing.
 */
export class Site implements AsyncDisposable {
  /** Where handlers write down what happens. */
  readonly journal: Journal;
  /** What held jobs wait for. */
  readonly gate: Gate = new Gate();
  /** Enqueues, waits and inspects. */
  readonly runtime: PostgresRuntime;
  /** The test's own look at the database. */
  readonly sql: postgres.Sql;
  /** The schema's name. */
  readonly schema: string;
  readonly #config: WorkerConfig;
  readonly #workers: Program[] = [];

  private constructor(url: string, journal: Journal, options: SiteOptions) {
    this.journal = journal;
    this.schema = uniqueSchema();
    this.#config = { url: options.through ?? url, schema: this.schema, ...options.config };
    this.sql = postgres(url, { max: 2, onnotice: () => {} });
    this.runtime = createRuntime({ ...runtimeOptions({ ...this.#config, url }), poolSize: 4 });
  }

  /** Makes the tables. */
  static async open(options: SiteOptions = {}): Promise<Site> {
    const site = new Site(options.url ?? await testDatabaseUrl(), await Journal.open(), options);
    try {
      await site.runtime.migrate();
    } catch (error) {
      await site[Symbol.asyncDispose]();
      throw error;
    }
    return site;
  }

  /** Starts a worker program. It is killed with what it started when the site closes. */
  worker(config: Partial<WorkerConfig> = {}, env: Readonly<Record<string, string>> = {}): Program {
    const worker = new Program("../tests/integration/programs/worker", [
      JSON.stringify({ ...this.#config, ...config }),
    ], { env });
    this.#workers.push(worker);
    return worker;
  }

  /** Starts a worker program and waits until it works. */
  async working(
    config: Partial<WorkerConfig> = {},
    env: Readonly<Record<string, string>> = {},
  ): Promise<Program> {
    const worker = this.worker(config, env);
    await worker.event("started");
    return worker;
  }

  /** Enqueues a job of a kind. Its handler writes to the journal and knows the gate. */
  async enqueue(kind: KindName, args: Partial<Args> = {}, options?: EnqueueOptions): Promise<JobId> {
    return await this.runtime.enqueue(kind, this.args(args), options);
  }

  /** The args that every handler needs. */
  args(args: Partial<Args> = {}): Record<string, string | number | boolean> {
    return { journal: this.journal.path, gate: this.gate.path, ...args };
  }

  /** Waits until a handler of a job has begun, and resolves to the process that it runs in. */
  async started(id: JobId, nth = 1): Promise<number> {
    const entry = await eventually(() => {
      const found = this.journal.starts(id)[nth - 1];
      if (found === undefined) throw new AssertionError(`job ${id} has not started ${nth} time(s)`);
      return found;
    }, DEADLINE_MS);
    return entry.pid;
  }

  /** Waits until a job is in a state. */
  async until(id: JobId, state: JobState, deadlineMs: number = DEADLINE_MS): Promise<JobDetail> {
    return await eventually(async () => {
      const job = await this.runtime.get(id);
      if (job?.state === state) return job;
      throw new AssertionError(`job ${id} is not ${state} but ${JSON.stringify(job)}`);
    }, deadlineMs);
  }

  /** Kills what still runs and drops the schema. A worker that said something on standard error fails the test. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const worker of this.#workers) await worker[Symbol.asyncDispose]();
    this.gate[Symbol.dispose]();
    await this.journal[Symbol.asyncDispose]();
    await this.runtime.stop();
    await this.sql.unsafe(`drop schema if exists ${this.schema} cascade`).catch(() => {});
    await this.sql.end({ timeout: 2 });
    for (const { stderr } of this.#workers) {
      // An uncaught error or an unhandled rejection is told there, and nothing else is.
      if (/uncaught|unhandled|panic/i.test(stderr)) {
        throw new AssertionError(`A worker program said:\n${stderr}`);
      }
    }
  }
}
