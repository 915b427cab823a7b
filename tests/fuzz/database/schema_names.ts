import { createPostgresStore } from "../../../adapters/postgres/postgres_store.ts";
import { printMigration } from "../../../adapters/postgres/schema/migrate.ts";
import { migrationSql } from "../../../adapters/postgres/schema/schema.ts";
import { OUTBOX } from "../../../events/_schema.ts";
import {
  captureChanges,
  createRuntime,
  InvalidOptionError,
  type PostgresRuntime,
  silentLog,
} from "../../../mod.ts";
import fc from "../../conformance/fast_check.ts";
import { SUITE_SETTINGS } from "../../conformance/stage.ts";
import { runSql } from "../../drivers/postgres_transaction.ts";
import { databaseUrl } from "../../harness/database_url.ts";
import { connectPostgres } from "../../integration/support/connect.ts";
import { assert, assertEquals } from "../../support/assert.ts";
import { textOf, thrownBy } from "../hostile.ts";
import type { Property } from "../property.ts";

const SENTINEL = "fuzz_sentinel";
const DEADLINE_MS = 20_000;

/** What ends, begins or stands for something in SQL, in psql, in PL/pgSQL, or in our statements. */
const PIECES = [
  ...[
    '"',
    '""',
    "'",
    "''",
    ";",
    "--",
    "/*",
    "*/",
    "\\",
    "\\'",
    "$$",
    "$1",
    "%",
    "%I",
    ":x",
    ".",
    ",",
    "(",
    ")",
    "?",
  ],
  ...["\n", "\r", "\t", " ", "\0", "\u00a0", "\u2028", "\ufeff", "\u{1f600}", "\u00fc", "\ud83d"],
  ...[
    "$body$",
    "$name$",
    "$capture$",
    "$body",
    "body$",
    "$",
    "{schema}",
    "{schema",
    "{channel outbox}",
    "{channel x",
    "}",
  ],
  ...["pg_", "information_schema", "public", "select", "user", "null", "A", "b", "a".repeat(20)],
  ...['"; drop table public.fuzz_sentinel; --', "'; drop table fuzz_sentinel; --"],
];

const name = fc.oneof(
  { weight: 8, arbitrary: textOf(PIECES, 5) },
  fc.constantFrom(
    "user",
    "select",
    "SELECT",
    "Public",
    "null",
    "current_user",
    "all",
    "0",
    " ",
    '"',
    "'",
    "\\",
  ),
  fc.string({ unit: "binary", minLength: 1, maxLength: 20 }),
);

/** An id for the names of one draw: what two draws of one name make must not meet. */
let draws = 0;

async function refusedOrWorking(drawn: string, table: string, printed: boolean): Promise<void> {
  const url = databaseUrl();
  const schema = drawn;
  let runtime: PostgresRuntime;
  const heard: string[] = [];
  const options = { url, schema, log: silentLog };
  try {
    runtime = createRuntime({
      ...options,
      settings: SUITE_SETTINGS,
      registrars: [{
        kinds: [{
          name: "k",
          queue: "default",
          maxAttempts: 1,
          timeout: 5000,
          handler: (args) => void heard.push(`job ${(args as { n: string }).n}`),
        }],
        eventTypes: [{ type: "row.changed", description: "a row has changed", subject: "its key" }],
        subscriptions: [{
          name: "s",
          types: ["row.*"],
          handler: ({ subject }) => void heard.push(`event ${subject}`),
        }],
      }],
    });
  } catch (error) {
    assert(error instanceof InvalidOptionError && error.option === "schema", String(error));
    const shown = JSON.stringify(drawn).slice(0, 50);
    assert(error.message.includes(shown) && error.message.includes("expected"), error.message);
    for (const print of [() => migrationSql(schema), () => printMigration(schema, "outbox", OUTBOX.steps)]) {
      assert(await thrownBy(print) instanceof InvalidOptionError, "the SQL of a refused name was printed");
    }
    return;
  }
  const sql = connectPostgres(url, 2);
  const store = createPostgresStore(options);
  const parts = [migrationSql(schema), printMigration(schema, "outbox", OUTBOX.steps)];
  const quoted = runtime.database.quotedSchema;
  try {
    assertEquals((await sql`select ${drawn}::name::text as name`)[0]!.name, drawn);
    if (printed) await runSql(url, ...parts.map(({ up }) => up));
    await runtime.migrate();
    await runtime.start();
    const first = await runtime.enqueue("k", { n: "alone" });
    let recorded = "";
    const second = await sql.begin(async (tx) => {
      recorded = await runtime.recorder.with(tx).record({ type: "row.changed", subject: "recorded" });
      return await runtime.with(tx).enqueue("k", { n: "with" }, { uniqueByArgs: true });
    });
    const third = await runtime.database.transaction(async (tx) => {
      await runtime.with(tx).enqueue("k", { n: "with" }, { uniqueByArgs: true });
      const [row] = await tx.unsafe(`select {schema}.enqueue('k', '{"n":"by SQL"}') as id`, []);
      return String(row!.id);
    });
    for (const id of [first, second, third]) {
      const end = await runtime.wait(id, DEADLINE_MS);
      assertEquals(end.done && end.state, "completed", `job ${id} of ${JSON.stringify(drawn)}`);
    }
    await untilHandled(runtime, recorded);
    const captured = await capturing(quoted, schema, table);
    if (captured !== null) {
      for (const statement of [captured.make, captured.up, captured.insert]) await sql.unsafe(statement);
      await untilHandled(runtime, (await runtime.events.latestFor("captured"))!.id);
      for (const statement of [captured.down, captured.drop]) await sql.unsafe(statement);
    }
    assertEquals((await runtime.events.backlog()).poisoned, 0);
    await runtime.stop();
    const wanted = ["event recorded", "job alone", "job by SQL", "job with"];
    const seen = [...new Set(heard)].filter((each) => each !== "event captured").sort();
    assertEquals(seen, wanted);
    if (printed) await runSql(url, ...parts.toReversed().map(({ down }) => down));
    else {
      await store.database.migrateDown(OUTBOX.part, OUTBOX.steps);
      await store.migrateDown(0);
    }
    const left = await sql`
      select relname from pg_class join pg_namespace as space on space.oid = relnamespace
      where nspname = ${drawn} and relkind in ('r', 'S', 'v')
      union all
      select proname from pg_proc join pg_namespace as space on space.oid = pronamespace where nspname = ${drawn}`;
    assertEquals(left.map(({ relname }) => relname), ["migration"]);
  } finally {
    await runtime.stop();
    await store.close();
    if (drawn !== "public") await sql.unsafe(`drop schema if exists ${quoted} cascade`);
    await sql.end();
  }
}

async function untilHandled(runtime: PostgresRuntime, event: string): Promise<void> {
  const receipt = await runtime.events.awaitFanout(event, DEADLINE_MS);
  assert(receipt.fannedOut, "the event was not fanned out");
  const end = await runtime.wait(receipt.jobs.s!, DEADLINE_MS);
  assertEquals(end.done && end.state, "completed");
}

/** What captures the changes of a table of this name; null where the name is refused. */
async function capturing(
  quoted: string,
  schema: string,
  table: string,
): Promise<{ make: string; insert: string; up: string; down: string; drop: string } | null> {
  let made = { up: "", down: "" };
  const error = await thrownBy(() => {
    made = captureChanges({
      schema,
      tableSchema: schema,
      table,
      key: [table],
      columns: [table],
      type: "row.changed",
      subject: "'captured'",
    });
  });
  if (error !== undefined) {
    assert(error instanceof InvalidOptionError && error.option === "table", String(error));
    return null;
  }
  const identifier = `"${table.replaceAll('"', '""')}"`;
  return {
    make: `create table ${quoted}.${identifier} (${identifier} int primary key)`,
    insert: `insert into ${quoted}.${identifier} values (1)`,
    up: made.up,
    down: made.down,
    drop: `drop table ${quoted}.${identifier}`,
  };
}

export const schemaNameProperty: Property = {
  name: "a schema may have any name: it is refused by an error that names it, or everything works in it",
  runs: 8,
  async check(numRuns) {
    const sql = connectPostgres(databaseUrl(), 1);
    const mark = `${SENTINEL}_${crypto.randomUUID().slice(0, 8)}`;
    await sql.unsafe(`create table if not exists public.${mark} (n int)`);
    try {
      const own = name.map((drawn) => drawn.replaceAll(SENTINEL, mark));
      // Draws of one test, and tests that run beside it, must not share a schema.
      const property = fc.asyncProperty(own, name, fc.boolean(), async (schema, table, printed) => {
        const unlike = /^[a-z_]*$/i.test(schema) && schema !== ""
          ? `${schema} ${mark.slice(-8)}${++draws}`
          : schema;
        await refusedOrWorking(unlike, table, printed);
        assertEquals((await sql`select to_regclass(${`public.${mark}`})::text as it`)[0]!.it, mark);
      });
      await fc.assert(property, { numRuns });
    } finally {
      await sql.unsafe(`drop table if exists public.${mark}`);
      await sql.end();
    }
  },
};
