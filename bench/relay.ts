/**
 * How fast one process fans out a backlog of events to one subscriber, and what recording an event costs a business
 * transaction beside a bare insert of the same row, with a relay at work in both cases; and what a bulk update costs whose
 * rows a trigger records, beside the same update and one insert of the same events. Run with `deno task bench relay`.
 * Rounds are interleaved, medians are printed: only the ratios mean something on another machine.
 *
 * @module
 */
import postgres from "postgres";
import { median } from "./figures.ts";
import { pause } from "./pause.ts";
import { captureChanges, createRuntime, type PostgresRuntime, silentLog } from "../mod.ts";

/** What was measured. */
export interface RelayResult {
  /** Events fanned out per second, one number a round. */
  readonly fanout: readonly number[];
  /** Business transactions per second that insert the row themselves. */
  readonly bare: readonly number[];
  /** Business transactions per second that record an event. */
  readonly recording: readonly number[];
  /** How long an update of 10,000 rows takes whose rows a trigger records, of the update and an insert of the events. */
  readonly capture: readonly number[];
}

/** What {@linkcode measureRelay} measures. */
export interface RelayBenchOptions {
  /** The database. */
  readonly url: string;
  /** How many events the backlog has. */
  readonly events: number;
  /** How many rounds. */
  readonly rounds: number;
  /** How long transactions are counted in a round, in ms. */
  readonly ms: number;
}

const CONNECTIONS = 10;
const TYPE = { type: "order.placed", description: "An order was placed", subject: "its id" };
const BULK_ROWS = 10_000;
/** Bulk updates of a round; the first ones find cold pages. */
const BULK_UPDATES = 15;
const NOOP = { name: "noop", types: ["order.*"], handler: () => {} };

/** Measures the fan-out and both transactions in every round. */
export async function measureRelay(options: RelayBenchOptions): Promise<RelayResult> {
  const result = {
    fanout: [] as number[],
    bare: [] as number[],
    recording: [] as number[],
    capture: [] as number[],
  };
  for (let round = 0; round < options.rounds; round++) {
    if (options.events > 0) result.fanout.push(await fanOut(options));
    const order = round % 2 === 0 ? ["bare", "recording"] as const : ["recording", "bare"] as const;
    for (const way of order) result[way].push(await transact(options, way));
    result.capture.push(await captureRatio(options));
  }
  return result;
}

async function fanOut({ url, events }: RelayBenchOptions): Promise<number> {
  await using bench = await RelayBench.open(url, {});
  await bench.seed(events);
  const { done, seconds } = await bench.fanOut();
  return Math.round(done / seconds);
}

async function transact({ url, ms }: RelayBenchOptions, way: "bare" | "recording"): Promise<number> {
  // Both ways are swept, or only the events of one of them would be fanned out.
  await using bench = await RelayBench.open(url, { sweepMs: 20 });
  const { sql, schema, runtime } = bench;
  await runtime.start();
  await sql.unsafe(
    `create table ${schema}.orders (id int generated always as identity primary key, note text)`,
  );
  const insert = `insert into ${schema}.orders (note) values ($1) returning id`;
  const bare = `insert into ${schema}.outbox (type, subject, owner_id, data) ` +
    "values ($1::text, $2::text, $3::text, $4::text::jsonb) returning id";
  let count = 0;
  let over = 0;
  const work = async (): Promise<void> => {
    while (performance.now() < over) {
      await sql.begin(async (tx) => {
        const [row] = await tx.unsafe(insert, ["a note"], { prepare: true });
        const draft = { type: TYPE.type, subject: `order:${row!.id}`, data: { order: Number(row!.id) } };
        if (way === "recording") await runtime.recorder.with(tx).record(draft);
        else {
          await tx.unsafe(bare, [draft.type, draft.subject, null, JSON.stringify(draft.data)], {
            prepare: true,
          });
        }
      });
      count++;
    }
  };
  const during = async (lengthMs: number): Promise<number> => {
    count = 0;
    over = performance.now() + lengthMs;
    await Promise.all(Array.from({ length: CONNECTIONS }, work));
    return count;
  };
  await during(ms / 4);
  return Math.round(await during(ms) * 1000 / ms);
}

async function captureRatio({ url }: RelayBenchOptions): Promise<number> {
  await using bench = await RelayBench.open(url, {});
  const { sql, schema } = bench;
  for (const table of ["plain", "captured"]) {
    await sql.unsafe(`create table ${schema}.${table} (id int primary key, status text, total int)`);
    await sql.unsafe(
      `insert into ${schema}.${table} select n, 'new', 0 from generate_series(1, ${BULK_ROWS}) as n`,
    );
  }
  const columns = ["status", "total"];
  const watched = { table: "captured", tableSchema: schema, key: ["id"], columns, type: TYPE.type, schema };
  await sql.unsafe(captureChanges(watched).up);
  const ratios: number[] = [];
  for (let index = 0; index < BULK_UPDATES; index++) {
    const began = performance.now();
    await sql.begin(async (tx) => {
      await tx.unsafe(`update ${schema}.plain set total = total + 1`);
      await tx.unsafe(
        `insert into ${schema}.outbox (type, subject, data)
         select '${TYPE.type}', 'plain:' || id, jsonb_build_object('id', id, 'status', status, 'total', total)
         from ${schema}.plain`,
      );
    });
    const between = performance.now();
    await sql.unsafe(`update ${schema}.captured set total = total + 1`);
    ratios.push((performance.now() - between) / (between - began));
  }
  return median(ratios.slice(2));
}

/** One runtime with a subscriber to everything, in a schema of its own. */
export class RelayBench implements AsyncDisposable {
  /** The schema. */
  readonly schema: string;
  /** For what the measurement itself does in the database. */
  readonly sql: postgres.Sql;
  /** The runtime, not started. */
  readonly runtime: PostgresRuntime;
  #seeded = 0;

  private constructor(schema: string, sql: postgres.Sql, runtime: PostgresRuntime) {
    this.schema = schema;
    this.sql = sql;
    this.runtime = runtime;
  }

  /** Makes the schema. */
  static async open(
    url: string,
    events: { sweepMs?: number },
    schema = `bench_${crypto.randomUUID().slice(0, 8)}`,
  ): Promise<RelayBench> {
    const runtime = createRuntime({
      url,
      schema,
      log: silentLog,
      events,
      // The subscriber's jobs are enqueued and stay: what is measured is the relay.
      work: ["maintenance"],
      registrars: [{ eventTypes: [TYPE], subscriptions: [NOOP] }],
    });
    await runtime.migrate();
    return new RelayBench(schema, postgres(url, { max: CONNECTIONS, onnotice: () => {} }), runtime);
  }

  /** Writes events that wait for their fan-out. */
  async seed(events: number): Promise<void> {
    this.#seeded = events;
    await this.sql.unsafe(
      `insert into ${this.schema}.outbox (type, subject, data)
       select 'order.placed', 'order:' || n, jsonb_build_object('order', n, 'note', 'a payload of some fifty bytes')
       from generate_series(1, $1::int) as n`,
      [events],
    );
  }

  /** Starts the runtime, and waits until every seeded event is fanned out. */
  async fanOut(): Promise<{ done: number; seconds: number }> {
    const waits = `select from ${this.schema}.outbox where fanned_out_at is null limit 1`;
    const began = performance.now();
    await this.runtime.start();
    while ((await this.sql.unsafe(waits)).length > 0) await pause(20);
    return { done: this.#seeded, seconds: (performance.now() - began) / 1000 };
  }

  /** Stops the runtime, and takes the schema away. */

  async [Symbol.asyncDispose](): Promise<void> {
    await this.runtime.stop();
    await this.sql.unsafe(`drop schema if exists ${this.schema} cascade`);
    await this.sql.end();
  }
}
