/** What a dump holds works on where it is restored. */
import { assert, assertEquals, assertGreater } from "@std/assert";
import { giveTo, serverAccount } from "../../embedded/account.ts";
import { createRuntime, type PostgresRuntime, silentLog } from "../../mod.ts";
import { connectPostgres } from "./support/connect.ts";
import { findStandbyMaker, Server } from "./support/server_pair.ts";

const bin = findStandbyMaker();
const WAITING = 3;
const DEADLINE_MS = 15_000;

/** What is restored where, in order. `migrate` is a schema that our own migrations have made. */
const WAYS: Readonly<Record<string, readonly string[][]>> = {
  "whole": [["whole"]],
  "the data into the dumped tables": [["tables"], ["data"]],
  "the data into migrated tables": [["migrate"], ["data"]],
  "the data as inserts into migrated tables": [["migrate"], ["inserts"]],
  "the data into migrated tables, triggers off": [["migrate"], ["data_without_triggers"]],
};

const DUMPS: Readonly<Record<string, readonly string[]>> = {
  whole: [],
  tables: ["--schema-only"],
  data: ["--data-only"],
  inserts: ["--data-only", "--inserts"],
  data_without_triggers: ["--data-only", "--disable-triggers", "--exclude-table-data=millrace.migration"],
};

Deno.test({
  name: "what is dumped and restored runs on, once: whole, and the data alone, with triggers and without",
  ignore: bin === null,
  fn: async (test) => {
    await using stack = new AsyncDisposableStack();
    const folder = await Deno.makeTempDir({ prefix: "millrace_dump_" });
    stack.defer(() => Deno.remove(folder, { recursive: true }));
    await giveTo(await serverAccount(), folder);
    const server = await Server.initialise(bin!, `${folder}/server`);
    stack.defer(() => server.stop("SIGINT"));
    const at = (database: string) => Object.assign(new URL(server.url), { pathname: `/${database}` }).href;

    await prepare(at("postgres"));
    await Promise.all(
      Object.entries(DUMPS).map(async ([name, options]) =>
        await run("pg_dump", [...options, `--file=${folder}/${name}.sql`, `--dbname=${at("postgres")}`])
      ),
    );
    const source = connectPostgres(at("postgres"));
    stack.defer(() => source.end({ timeout: 2 }));
    const counted = await counts(source);
    for (const [index, [way, parts]] of Object.entries(WAYS).entries()) {
      await test.step(way, async () => {
        const database = `restored_${index}`;
        await source.unsafe(`create database ${database}`);
        for (const part of parts.flat()) {
          if (part === "migrate") await withRuntime(at(database), (runtime) => runtime.migrate());
          else {
            const file = `--file=${folder}/${part}.sql`;
            await run("psql", ["-X", "-q", "-v", "ON_ERROR_STOP=1", file, `--dbname=${at(database)}`]);
          }
        }
        const restored = connectPostgres(at(database));
        try {
          assertEquals(await counts(restored), counted);
          await worksOn(at(database), restored);
        } finally {
          await restored.end({ timeout: 2 });
        }
      });
    }
  },
});

/** Ended jobs, one with a key, runs of a periodic, jobs that wait, events, and a process that has died. */
async function prepare(url: string): Promise<void> {
  await withRuntime(url, async (runtime) => {
    await runtime.migrate();
    await runtime.start();
    for (const id of [await runtime.enqueue("plain", {}), await runtime.enqueue("plain", [1], UNIQUE)]) {
      assert((await runtime.wait(id, DEADLINE_MS)).done);
    }
    for (let time = 0; time < 3; time++) {
      assert((await runtime.wait(await runtime.runPeriodic("tick"), DEADLINE_MS)).done);
    }
    await runtime.stop();
  });
  await withRuntime(url, async (runtime) => {
    const due = { runAt: new Date(Date.now() + 3_600_000) };
    for (let n = 0; n < WAITING; n++) await runtime.enqueue("plain", { waits: n }, due);
  });
  const sql = connectPostgres(url);
  // A row of SQL's own, of which nobody has asked for rules; and processes that have not ended in order.
  await sql`
    insert into millrace.job (kind, queue, priority, max_attempts, args, scheduled_at)
    values ('ruled', 'default', 2, 3, '{}', now() + interval '1 hour')`;
  await sql`
    insert into millrace.worker (id, name, queues, outdated)
    values (gen_random_uuid(), 'died', '["default", "other"]', false), (gen_random_uuid(), 'outdated', '["x"]', true)`;
  await sql`update millrace.worker set protocol = 0 where outdated`;
  await sql.end();
}

const UNIQUE = { uniqueByArgs: true };

async function worksOn(url: string, sql: ReturnType<typeof connectPostgres>): Promise<void> {
  const ran: unknown[] = [];
  await withRuntime(url, async (runtime) => {
    await runtime.start();
    const [before] = await runtime.periodic();
    assertEquals(before!.runs.length, 3);
    const waiting = await runtime.list({ state: "pending" });
    await runtime.bringForward(waiting.map(({ id }) => id));
    for (const { id } of waiting) {
      const result = await runtime.wait(id, DEADLINE_MS);
      assertEquals(result.done && result.state, "completed", id);
    }
    assertEquals(ran.length, WAITING + 1);
    // Long before the next poll.
    const [row] = await sql`select millrace.enqueue('plain', '{"woken": true}') as id`;
    const woken = await runtime.wait(String(row!.id), DEADLINE_MS);
    assertEquals(woken.done && woken.state, "completed");
    assertGreater(BigInt(row!.id), BigInt(waiting[0]!.id));
    const key = await runtime.offer("plain", [1], UNIQUE);
    assertEquals(key.added, false);
    const tick = await runtime.runPeriodic("tick");
    assert((await runtime.wait(tick, DEADLINE_MS)).done);
    const runs = (await runtime.periodic())[0]!.runs;
    assertEquals([runs.length, runs[0]?.jobId], [4, tick]);
  }, ran);
}

async function withRuntime(
  url: string,
  body: (runtime: PostgresRuntime) => Promise<void>,
  ran: unknown[] = [],
): Promise<void> {
  const runtime = createRuntime({
    url,
    poolSize: 4,
    settings: { pollMs: 60_000 },
    registrars: [{
      kinds: [
        {
          name: "plain",
          queue: "default",
          maxAttempts: 3,
          timeout: 5000,
          handler: (args) => void ran.push(args),
        },
        {
          name: "ruled",
          queue: "default",
          maxAttempts: 3,
          timeout: 5000,
          unique: {},
          handler: (args) => void ran.push(args),
        },
      ],
      periodics: [{ name: "tick", every: 3_600_000, handler: () => null }],
    }],
    queues: [{ name: "default", concurrency: 2 }],
    log: silentLog,
  });
  try {
    await body(runtime);
  } finally {
    await runtime.stop();
  }
}

/** The rows of each table, and where each sequence is. */
async function counts(sql: ReturnType<typeof connectPostgres>): Promise<Record<string, string>> {
  const tables = await sql`
    select relname, relkind from pg_class where relnamespace = 'millrace'::regnamespace and relkind in ('r', 'S')
    order by 1`;
  const counted: Record<string, string> = {};
  for (const { relname, relkind } of tables) {
    const what = relkind === "S" ? "case when is_called then last_value end" : "count(*)";
    const [row] = await sql.unsafe(`select ${what} as many from millrace.${relname}`);
    counted[relname] = String(row!.many);
  }
  return counted;
}

async function run(program: string, args: readonly string[]): Promise<void> {
  const { success, stderr } = await new Deno.Command(`${bin}/${program}`, {
    args: [...args],
    stdout: "null",
    stderr: "piped",
  }).output();
  if (!success) throw new Error(`${program} ${args.join(" ")}: ${new TextDecoder().decode(stderr)}`);
}
