import { assert, assertEquals, assertMatch, assertRejects, assertStringIncludes } from "@std/assert";
import type { MigrationStep } from "../../../ports/database.ts";
import {
  BreakingMigrationError,
  DatabaseUnavailableError,
  InvalidOptionError,
  SchemaVersionError,
} from "../../../ports/errors.ts";
import type { Log } from "../../../ports/log.ts";
import { createLog } from "../../../shared/log.ts";
import { PostgresDatabase } from "../connection/database.ts";
import { databaseUrl, freshSchema, gate, newJob, until } from "../fixture_test.ts";
import { createPostgresStore } from "../postgres_store.ts";
import { migrationLockKey } from "../sql/identifiers.ts";
import { printMigration } from "./migrate.ts";
import { JOB_STEPS, JOBS_PART, migrationSql } from "./schema.ts";

/** Holds what a statement takes, in a session that names itself, until the function has run. */
async function whileHeld(
  text: string,
  params: readonly string[],
  body: () => Promise<void>,
): Promise<void> {
  const session = { application_name: "the holder" };
  const database = PostgresDatabase.connect({ url: databaseUrl(), poolSize: 1, listen: "off", session });
  const [held, letGo] = [gate(), gate()];
  const holding = database.transaction(async (tx) => {
    await tx.unsafe(text, [...params]);
    held.open();
    await letGo.opened;
  });
  await held.opened;
  try {
    await body();
  } finally {
    letGo.open();
    await holding;
    await database.close();
  }
}

const HOLD_LOCK = "select pg_advisory_xact_lock($1::text::bigint)";

async function withSchema(
  body: (schema: string, connect: (poolSize?: number, url?: string) => PostgresDatabase) => Promise<void>,
  schema: string = freshSchema(),
): Promise<void> {
  const opened: PostgresDatabase[] = [];
  const connect = (poolSize = 2, url = databaseUrl()) => {
    const database = PostgresDatabase.connect({ url, schema, poolSize });
    opened.push(database);
    return database;
  };
  try {
    await body(schema, connect);
  } finally {
    await connect().query("drop schema if exists {schema} cascade");
    await Promise.all(opened.map((database) => database.close()));
  }
}

const step = (version: number, up: string): MigrationStep => ({
  version,
  name: `step ${version}`,
  up,
  down: `drop table {schema}.step_${version}`,
});

const STEPS = [1, 2, 3].map((version) => step(version, `create table {schema}.step_${version} (n int)`));

Deno.test("many processes that migrate at once apply each step once", () =>
  withSchema(async (_schema, connect) => {
    for (let round = 0; round < 5; round++) {
      const databases = Array.from({ length: 8 }, () => connect(1));
      await Promise.all(databases.map((database) => database.migrate("part", STEPS)));
      await Promise.all(databases.map((database) => database.migrate("part", STEPS)));
      const rows = await databases[0]!.query("select version from {schema}.migration order by version");
      assertEquals(rows.map((row) => row.version), [1, 2, 3]);
      await databases[0]!.query("drop schema {schema} cascade");
    }
  }));

Deno.test("a pool of one migrates, down and up again, and parts do not mix", () =>
  withSchema(async (_schema, connect) => {
    const database = connect(1);
    await database.migrate("one", STEPS.slice(0, 2));
    await database.migrate("other", [{
      version: 1,
      name: "x",
      up: "create table {schema}.x ()",
      down: "drop table {schema}.x",
    }]);
    assertEquals([await database.migratedTo("one"), await database.migratedTo("other")], [2, 1]);
    await database.migrate("one", STEPS);
    assertEquals(await database.migratedTo("one"), 3);
    await database.migrateDown("one", STEPS, 1);
    assertEquals(await database.migratedTo("one"), 1);
    await database.migrateDown("one", STEPS);
    assertEquals([await database.migratedTo("one"), await database.migratedTo("other")], [0, 1]);
    await database.migrate("one", STEPS);
    assertEquals(await database.migratedTo("one"), 3);
  }));

Deno.test("a step that fails or is killed leaves whole steps only, and the next start goes on", () =>
  withSchema(async (_schema, connect) => {
    const database = connect();
    const broken = [STEPS[0]!, step(2, "create table {schema}.step_2 (n int); select 1/0")];
    // All of a new part is one transaction.
    await assertRejects(() => database.migrate("part", broken));
    assertEquals(await database.migratedTo("part"), 0);
    await database.migrate("part", STEPS.slice(0, 1));
    await assertRejects(() => database.migrate("part", broken));
    assertEquals(await database.migratedTo("part"), 1);
    const slow = [STEPS[0]!, step(2, "create table {schema}.step_2 (n int); select pg_sleep(30)")];
    const killed = assertRejects(() => database.migrate("part", slow));
    await until("the slow step runs", async () =>
      (await database.query(
        `select pg_terminate_backend(pid) from pg_stat_activity
        where query like '%pg_sleep(30)%' and query like '%' || $1::text || '%' and pid <> pg_backend_pid()`,
        [database.schema],
      )).length > 0);
    await killed;
    await connect().migrate("part", STEPS);
    assertEquals(await database.migratedTo("part"), 3);
  }));

Deno.test("waiters outlive a role's timeouts, and another schema does not wait", () =>
  withSchema(async (schema, connect) => {
    const role = `r_${crypto.randomUUID().slice(0, 8)}`;
    const admin = connect();
    await admin.query(`create role ${role} login superuser password 'secret'`);
    await admin.query(`alter role ${role} set statement_timeout = '100ms'`);
    await admin.query(`alter role ${role} set lock_timeout = '100ms'`);
    try {
      const url = new URL(databaseUrl());
      url.username = role;
      url.password = "secret";
      const [begun, letGo] = [gate(), gate()];
      const holder = admin.transaction(async (tx) => {
        await tx.unsafe("select pg_advisory_xact_lock($1::text::bigint)", [migrationLockKey(schema)]);
        begun.open();
        await letGo.opened;
      });
      await begun.opened;
      let waits = true;
      const waiter = connect(1, url.href).migrate("part", STEPS).then(() => waits = false);
      await withSchema(async (_other, connectOther) => {
        await connectOther().migrate("part", STEPS);
        assertEquals(waits, true);
        await connectOther().query("select pg_sleep(0.4)");
      });
      assertEquals(waits, true);
      letGo.open();
      await Promise.all([holder, waiter]);
    } finally {
      await admin.query(`drop owned by ${role}`);
      await admin.query(`reassign owned by ${role} to current_user`).catch(() => {});
      await until("the role can go", () => admin.query(`drop role ${role}`).then(() => true, () => false));
    }
  }));

/** A log, and the lines that were told at these levels. */
function recording(level: "info" | "warn"): { readonly lines: Record<string, unknown>[]; readonly log: Log } {
  const lines: Record<string, unknown>[] = [];
  return { lines, log: createLog({ level, write: (line) => lines.push(JSON.parse(line)) }) };
}

Deno.test("a program starts on a newer schema that it can go on with, and says so; on any other it is refused", async () => {
  const { lines, log } = recording("info");
  const store = createPostgresStore({ url: databaseUrl(), schema: freshSchema(), listen: "off", log });
  const later = (more: Partial<MigrationStep>) => [
    ...JOB_STEPS,
    {
      ...step(JOB_STEPS.length + 1, "create table {schema}.later ()"),
      down: "drop table {schema}.later",
      ...more,
    },
  ];
  try {
    const before = await assertRejects(() => store.open(), SchemaVersionError);
    assertEquals([before.found, before.needed], [0, JOB_STEPS.length]);
    assertStringIncludes(before.message, "run migrate()");
    await store.migrate();
    await store.open();
    assertEquals(lines, []);
    await store.database.migrate(JOBS_PART, later({}));
    await store.migrate();
    await store.open();
    const [{ event, part, version, known } = {}, ...more] = lines;
    assertEquals(event, "the schema is newer than this program, which can go on with it");
    assertEquals([part, version, known, more], [JOBS_PART, JOB_STEPS.length + 1, JOB_STEPS.length, []]);

    const breaking = later({ leastVersion: JOB_STEPS.length + 1 });
    await store.database.migrateDown(JOBS_PART, breaking, JOB_STEPS.length);
    await store.database.migrate(JOBS_PART, breaking, { breaking: true });
    for (const refused of [() => store.open(), () => store.migrate(), () => store.migrateDown(0)]) {
      const error = await assertRejects(refused, SchemaVersionError);
      assertEquals([error.found, error.needed], [JOB_STEPS.length + 1, JOB_STEPS.length]);
    }
    await store.database.migrateDown(JOBS_PART, breaking, JOB_STEPS.length);
    await store.open();
  } finally {
    await store.database.query("drop schema {schema} cascade");
    await store.close();
  }
});

Deno.test("a breaking step is made when it is asked for; unasked nothing is, and the error says how to ask", () =>
  withSchema(async (_schema, connect) => {
    const database = connect();
    const breaking = { ...STEPS[2]!, name: "break", leastVersion: 2 };
    const steps = [...STEPS.slice(0, 2), breaking];
    await database.migrate("part", STEPS.slice(0, 1));
    for (let time = 0; time < 2; time++) {
      const error = await assertRejects(() => database.migrate("part", steps), BreakingMigrationError);
      assertEquals([error.part, error.version], ["part", 3]);
      for (const word of ["step 3 (break) of part", "--migrate", "migrate({ breaking: true })"]) {
        assertStringIncludes(error.message, word);
      }
      assertEquals(await database.migratedTo("part"), 1);
    }
    await database.migrate("part", steps, { breaking: true });
    // Those who know step 2 go on, those who don't are refused; and what requires no more than that breaks nothing.
    await database.checkMigrated("part", STEPS.slice(0, 2));
    await assertRejects(() => database.checkMigrated("part", STEPS.slice(0, 1)), SchemaVersionError);
    await assertRejects(() => database.migrate("part", STEPS.slice(0, 1)), SchemaVersionError);
    await database.migrate("part", [...steps, { ...step(4, "select 1"), leastVersion: 2 }]);
    assertEquals(await database.migratedTo("part"), 4);
  }));

Deno.test("the first steps of a part break nobody, and are made unasked", () =>
  withSchema(async (_schema, connect) => {
    const breaking = STEPS.map((each) => ({ ...each, leastVersion: each.version }));
    await connect().migrate("it's a part", breaking);
    await connect().checkMigrated("it's a part", breaking);
    await assertRejects(() => connect().checkMigrated("it's a part", STEPS.slice(0, 2)), SchemaVersionError);
  }));

Deno.test("a step that raises the protocol is a breaking one, unless there are no jobs yet", () =>
  withSchema(async (_schema, connect) => {
    const [first, ...more] = JOB_STEPS;
    const raising = { ...step(1, "create table {schema}.step_1 ()"), leastProtocol: 2 };
    await connect().migrate(JOBS_PART, [first!, ...more.slice(0, -1), { ...more.at(-1)!, leastProtocol: 2 }]);
    await connect().migrate("part", [raising]);
    const error = await assertRejects(
      () => connect().migrate("other", [{ ...raising, leastProtocol: 3 }]),
      BreakingMigrationError,
    );
    assertEquals([error.part, await connect().migratedTo("other")], ["other", 0]);
  }));

Deno.test("the printed SQL records what a step requires", () =>
  withSchema(async (schema, connect) => {
    const steps = [STEPS[0]!, { ...STEPS[1]!, leastVersion: 2 }];
    const { up } = printMigration(schema, "part", steps);
    assertStringIncludes(up, "-- part 2: step 2 (programs below version 2 can't go on with it)");
    await psql(up);
    await connect().checkMigrated("part", steps);
    await assertRejects(() => connect().checkMigrated("part", steps.slice(0, 1)), SchemaVersionError);
  }));

Deno.test("a schema that is up to date needs no lock", () =>
  withSchema(async (schema, connect) => {
    await connect().migrate("part", STEPS);
    await whileHeld(HOLD_LOCK, [migrationLockKey(schema)], async () => {
      await connect().migrate("part", STEPS);
      await connect().migrateDown("part", STEPS, STEPS.length);
    });
  }));

Deno.test("who waits for another migration says for whom, and closing the database ends the wait", () =>
  withSchema(async (schema) => {
    const lines: Record<string, unknown>[] = [];
    const log = createLog({ level: "warn", write: (line) => lines.push(JSON.parse(line)) });
    const database = PostgresDatabase.connect({ url: databaseUrl(), schema, log, listen: "off" });
    await whileHeld(HOLD_LOCK, [migrationLockKey(schema)], async () => {
      const refused = assertRejects(
        () => database.migrate("part", STEPS),
        DatabaseUnavailableError,
        "closed",
      );
      await until("it says what it waits for", () => lines.length > 0);
      const { event, part, heldBy } = lines[0]!;
      assertEquals([event, part], ["migration waits", "part"]);
      assertMatch(String(heldBy), /^pid \d+ \(the holder, role .+\), idle in transaction for \d+ s$/);
      await database.close();
      await refused;
    });
    assertEquals(lines.length, 1);
  }));

Deno.test("a step that waits for a table lets others use it meanwhile, says who holds it, and is done when it is free", () =>
  withSchema(async (schema, connect) => {
    const lines: Record<string, unknown>[] = [];
    const log = createLog({ level: "warn", write: (line) => lines.push(JSON.parse(line)) });
    const database = PostgresDatabase.connect({ url: databaseUrl(), schema, log, listen: "off" });
    const alters = [
      STEPS[0]!,
      step(2, "alter table {schema}.step_1 add column m int; create table {schema}.step_2 ()"),
    ];
    await database.migrate("part", alters.slice(0, 1));
    let migrating: Promise<void> | undefined;
    const other = connect();
    await whileHeld(`select from ${other.quotedSchema}.step_1`, [], async () => {
      migrating = database.migrate("part", alters);
      let used = 0;
      await until("it says what it waits for", async () => {
        // Each would wait for the step for as long as that waits for the holder.
        await other.query("insert into {schema}.step_1 (n) values (1)");
        used++;
        return lines.length > 0;
      });
      assert(used > 3, `the table was used ${used} times`);
      assertMatch(String(lines[0]!.heldBy), /the holder/);
      assertEquals(await other.migratedTo("part"), 1);
    });
    await migrating;
    assertEquals(await other.migratedTo("part"), 2);
    await database.close();
  }));

Deno.test("a role that may not create schemas can migrate one that exists", () =>
  withSchema(async (_schema, connect) => {
    const role = `r_${crypto.randomUUID().slice(0, 8)}`;
    const admin = connect();
    await admin.query(`create role ${role} login password 'secret'`);
    await admin.query(`create schema {schema} authorization ${role}`);
    try {
      const url = new URL(databaseUrl());
      url.username = role;
      url.password = "secret";
      const database = connect(1, url.href);
      await database.migrate(JOBS_PART, JOB_STEPS);
      assertEquals(await database.migratedTo(JOBS_PART), JOB_STEPS.length);
      await database.close();
    } finally {
      await admin.query(`drop owned by ${role} cascade`);
      await admin.query(`drop role ${role}`);
    }
  }));

Deno.test("any schema name works, whatever it holds", async () => {
  for (
    const name of [`Millrace "it's" ${freshSchema()}`, `$1 $& ${freshSchema()}`, "ü".repeat(31)]
  ) {
    const store = createPostgresStore({ url: databaseUrl(), schema: name, listen: "off" });
    try {
      await store.migrate();
      await store.open();
      const [one] = await store.insert([newJob({ unique: true })]);
      await store.database.transaction(async (tx) => {
        assertEquals((await store.insert([newJob({ unique: true })], tx))[0]?.id, one!.id);
        await store.insert([newJob()], tx);
      });
      const { up, down } = migrationSql(name);
      await store.database.query("drop schema {schema} cascade");
      await store.database.transaction((tx) => Promise.resolve(tx.unsafe(withoutTransactions(up), [])));
      await store.open();
      await store.database.transaction((tx) => Promise.resolve(tx.unsafe(withoutTransactions(down), [])));
      assertEquals(await store.database.migratedTo(JOBS_PART), 0);
    } finally {
      await store.database.query("drop schema if exists {schema} cascade");
      await store.close();
    }
  }
});

Deno.test("the printed SQL is applied by psql, down and up", () =>
  withSchema(async (schema, connect) => {
    const { up, down } = migrationSql(schema);
    const database = connect();
    await psql(up);
    assertEquals(await database.migratedTo(JOBS_PART), JOB_STEPS.length);
    await database.migrate(JOBS_PART, JOB_STEPS);
    await psql(down);
    assertEquals(await database.migratedTo(JOBS_PART), 0);
    await psql(up);
    assertEquals(await database.migratedTo(JOBS_PART), JOB_STEPS.length);
  }));

Deno.test("steps that do not count from 1, or require a version to come, are refused", () =>
  withSchema(async (_schema, connect) => {
    await assertRejects(() => connect().migrate("part", [STEPS[1]!]), InvalidOptionError, "expected 1, 2, 3");
    for (const leastVersion of [0, 2, 0.5]) {
      const steps = [{ ...STEPS[0]!, leastVersion }];
      await assertRejects(() => connect().migrate("part", steps), InvalidOptionError, "from 1 to 1");
    }
  }));

function withoutTransactions(sql: string): string {
  return sql.replace(/^(begin|commit);$/gm, "");
}

async function psql(sql: string): Promise<void> {
  const child = new Deno.Command("psql", {
    args: ["-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", databaseUrl(), "-f", "-"],
    stdin: "piped",
    stdout: "null",
    stderr: "piped",
  }).spawn();
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(sql));
  await writer.close();
  const { success, stderr } = await child.output();
  if (!success) throw new Error(`psql failed: ${new TextDecoder().decode(stderr)}`);
}
