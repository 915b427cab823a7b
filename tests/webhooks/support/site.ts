import postgres from "postgres";
import type { Delivery, EndpointDraft, Webhooks } from "../../../webhooks/mod.ts";
import type { Json, PostgresRuntime } from "../../../mod.ts";
import { eventually } from "../../conformance/eventually.ts";
import { Program } from "../../programs/program.ts";
import { testDatabaseUrl, uniqueSchema } from "../../support/test_database.ts";
import { buildProcess, type ProcessOptions } from "./composition.ts";

export { SECRET_KEY } from "./composition.ts";

/** One process with webhooks. */
export interface SiteProcess {
  /** Its runtime. */
  readonly runtime: PostgresRuntime;
  /** Its webhooks. */
  readonly webhooks: Webhooks;
  /** The lines of its log. */
  readonly lines: string[];
}

/** A schema of its own, and the processes on it. */
export class Site implements AsyncDisposable {
  /** The schema. */
  readonly schema: string = uniqueSchema();
  /** The database's URL. */
  readonly url: string;
  /** A connection beside it. */
  readonly sql: postgres.Sql;
  /** The processes. */
  readonly processes: SiteProcess[] = [];
  readonly #options: ProcessOptions;
  readonly #workers: Program[] = [];

  private constructor(url: string, options: ProcessOptions) {
    this.url = url;
    this.sql = postgres(url, { max: 2, onnotice: () => {} });
    this.#options = options;
  }

  /** Makes the schema and starts one process. */
  static async open(options: ProcessOptions = {}): Promise<Site> {
    const site = await Site.prepare(options);
    await site.main.runtime.start();
    return site;
  }

  /** Makes the schema and a first process that works nothing: its operations alone are used. */
  static async prepare(options: ProcessOptions = {}): Promise<Site> {
    const site = new Site(await testDatabaseUrl(), options);
    await site.build().runtime.migrate();
    return site;
  }

  /** A process that is not started. */
  build(changes: ProcessOptions = {}): SiteProcess {
    const lines: string[] = [];
    const options = { ...this.#options, ...changes };
    const process = { ...buildProcess(this, options, (line) => void lines.push(line)), lines };
    this.processes.push(process);
    return process;
  }

  /** A worker program of its own. Without `permissions` it may do everything. It is killed when the site closes. */
  worker(options: ProcessOptions = {}, permissions?: readonly string[]): Program {
    const { url, schema } = this;
    const config = { url, schema, options: { ...this.#options, ...options } };
    const worker = new Program("../tests/webhooks/programs/worker", [JSON.stringify(config)], {
      ...(permissions === undefined ? {} : { permissions }),
    });
    this.#workers.push(worker);
    return worker;
  }

  /** The first process. */
  get main(): SiteProcess {
    return this.processes[0]!;
  }

  /** An endpoint for all orders. */
  async endpoint(url: string, draft: Partial<EndpointDraft> = {}): Promise<{ id: string; secret: string }> {
    const { endpoint, secret } = await this.main.webhooks.create({
      ownerId: null,
      url,
      eventTypes: ["order.*"],
      ...draft,
    });
    return { id: endpoint.id, secret };
  }

  /** Records one order. */
  async record(data: Json = {}, ownerId: string | null = null, type = "order.placed"): Promise<string> {
    return await this.main.runtime.recorder.record({ type, subject: "order:1", ownerId, data });
  }

  /** Waits until so many deliveries of an endpoint are in a state. Resolves to all of them, oldest first. */
  async untilState(endpointId: string, state: Delivery["state"], count = 1): Promise<Delivery[]> {
    const look = () => this.main.webhooks.deliveries({ endpointId, limit: 1000 });
    try {
      const all = await eventually(async () => {
        const found = await look();
        return found.filter((each) => each.state === state).length >= count ? found : undefined;
      }, 30_000);
      return all.toReversed();
    } catch (error) {
      throw new Error(
        `${count} ${state} never came: ${JSON.stringify(await look())} ${this.main.lines.join("\n")}`,
        {
          cause: error,
        },
      );
    }
  }

  /**
   * Waits until so many deliveries of an endpoint have been tried, and their jobs are back in line: that the receiver has
   * answered is on record some time later. Resolves to them, oldest first.
   */
  async untilTried(endpointId: string, count = 1): Promise<Delivery[]> {
    return await eventually(async () => {
      const found = await this.main.webhooks.deliveries({ endpointId, limit: 1000 });
      const tried = found.filter(({ log }) => log.length > 0);
      const jobs = await Promise.all(tried.map(({ jobId }) => this.main.runtime.get(jobId)));
      const done = jobs.filter((job) => job?.state === "retryable" || job?.state === "pending").length;
      return tried.length === count && done === count ? tried.toReversed() : undefined;
    }, 30_000);
  }

  /** Ends all of it. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const worker of this.#workers) await worker[Symbol.asyncDispose]();
    await Promise.all(this.processes.map(({ runtime }) => runtime.stop(500)));
    await this.sql.unsafe(`drop schema if exists ${this.schema} cascade`);
    await this.sql.end();
  }
}
