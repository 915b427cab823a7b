import postgres from "postgres";
import { toBase64 } from "../../../events/webhooks/_base64.ts";
import {
  type Delivery,
  type EndpointDraft,
  Webhooks,
  type WebhooksOptions,
} from "../../../events/webhooks/mod.ts";
import { createLog, createRuntime, type EventType, type Json, type PostgresRuntime } from "../../../mod.ts";
import { eventually } from "../../conformance/eventually.ts";
import { testDatabaseUrl, uniqueSchema } from "../../support/test_database.ts";

/** A key to seal secrets with. */
export const SECRET_KEY: string = toBase64(new Uint8Array(32).fill(7));

const TYPES: readonly EventType[] = [
  { type: "order.placed", description: "An order.", subject: "its id", exposure: "webhook" },
  { type: "order.paid", description: "Money.", subject: "its id", exposure: "webhook" },
  { type: "mail.sent", description: "Nobody else's business.", subject: "its id" },
];

/** How a site differs. */
export interface SiteOptions extends WebhooksOptions {
  /** Concurrency of the queue. Default 50. */
  readonly concurrency?: number;
}

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
  readonly #options: SiteOptions;

  private constructor(url: string, options: SiteOptions) {
    this.url = url;
    this.sql = postgres(url, { max: 2, onnotice: () => {} });
    this.#options = options;
  }

  /** Makes the schema and starts one process. */
  static async open(options: SiteOptions = {}): Promise<Site> {
    const site = new Site(await testDatabaseUrl(), options);
    const { runtime } = site.build();
    await runtime.migrate();
    await runtime.start();
    return site;
  }

  /** A process that is not started. */
  build(changes: SiteOptions = {}): SiteProcess {
    const { concurrency = 50, ...options } = { ...this.#options, ...changes };
    const webhooks = new Webhooks({
      secretKey: SECRET_KEY,
      egress: { allowHttp: true, allowAddresses: ["127.0.0.1"] },
      ...options,
      // A tenth of a second is what ten of them are otherwise.
      settings: { scheduleMs: [50, 100, 200], probeMs: 200, leaseMs: 2000, ...options.settings },
    });
    const lines: string[] = [];
    const runtime = createRuntime({
      url: this.url,
      schema: this.schema,
      registrars: [{ eventTypes: TYPES }, webhooks.registrar],
      queues: [{ name: "webhook", concurrency }],
      settings: { pollMs: 100 },
      log: createLog({ level: "info", write: (line) => void lines.push(line) }),
    });
    const process = { runtime, webhooks, lines };
    this.processes.push(process);
    return process;
  }

  /** The first process. */
  get main(): SiteProcess {
    return this.processes[0]!;
  }

  /** An endpoint for all orders. */
  async endpoint(url: string, draft: Partial<EndpointDraft> = {}): Promise<{ id: string; secret: string }> {
    const { endpoint, secret } = await this.main.webhooks.create({ url, eventTypes: ["order.*"], ...draft });
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

  /** Ends all of it. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.processes.map(({ runtime }) => runtime.stop(500)));
    await this.sql.unsafe(`drop schema if exists ${this.schema} cascade`);
    await this.sql.end();
  }
}
