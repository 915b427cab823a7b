import type postgres from "postgres";
import {
  createRuntime,
  type CreateRuntimeOptions,
  type EventDraft,
  type PostgresRuntime,
  type RecordedEvent,
  silentLog,
  type Subscription,
} from "../../../mod.ts";
import { connectPostgres } from "../../integration/support/connect.ts";
import { EVENT_SETTINGS, TYPES } from "./settings.ts";
import { SETTINGS } from "../../integration/programs/composition.ts";
import { testDatabaseUrl, uniqueSchema } from "../../support/test_database.ts";

/** An event of an order. */
export function placed(order: number, data: Record<string, number | string> = {}): EventDraft {
  return { type: "order.placed", subject: `order:${order}`, data: { order, ...data } };
}

/** A subscription, and what its handler got. */
export interface Keeping {
  /** What to declare. */
  readonly subscription: Subscription;
  /** What came, in the order in which it came. */
  readonly got: RecordedEvent[];
}

/** A subscription to all about orders that keeps what it gets. */
export function keeping(name: string, change: Partial<Subscription> = {}): Keeping {
  const got: RecordedEvent[] = [];
  const handler = (event: RecordedEvent) => void got.push(event);
  return { got, subscription: { name, types: ["order.*"], handler, ...change } };
}

/** A schema of its own with runtimes on it. */
export class Bus implements AsyncDisposable {
  readonly #runtimes: PostgresRuntime[] = [];

  private constructor(
    /** The database. */
    readonly url: string,
    /** The test's own look at it. */
    readonly sql: postgres.Sql,
    /** The schema. */
    readonly schema: string,
  ) {}

  /** Makes the tables. */
  static async open(): Promise<Bus> {
    const url = await testDatabaseUrl();
    const bus = new Bus(url, connectPostgres(url, 4), uniqueSchema());
    await bus.runtime([]).migrate();
    return bus;
  }

  /** Builds a runtime that subscribes. */
  runtime(
    subscriptions: readonly Subscription[],
    options: Partial<CreateRuntimeOptions> = {},
  ): PostgresRuntime {
    const runtime = createRuntime({
      url: this.url,
      schema: this.schema,
      registrars: [{ eventTypes: TYPES, subscriptions }],
      settings: SETTINGS,
      log: silentLog,
      ...options,
      events: { ...EVENT_SETTINGS, ...options.events },
    });
    this.#runtimes.push(runtime);
    return runtime;
  }

  /** Builds a runtime that subscribes, and starts it. */
  async started(
    subscriptions: readonly Subscription[],
    options?: Partial<CreateRuntimeOptions>,
  ): Promise<PostgresRuntime> {
    const runtime = this.runtime(subscriptions, options);
    await runtime.start();
    return runtime;
  }

  /** Stops all runtimes and drops the schema. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#runtimes.map((runtime) => runtime.stop()));
    await this.sql.unsafe(`drop schema if exists ${this.schema} cascade`);
    await this.sql.end({ timeout: 2 });
  }
}
