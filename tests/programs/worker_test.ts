import {
  assert,
  assertEquals,
  assertFalse,
  assertLess,
  assertMatch,
  assertStringIncludes,
} from "@std/assert";
import postgres from "postgres";
import { migrationLockKey } from "../../adapters/postgres/sql/identifiers.ts";
import { WORKER_ARGUMENTS } from "../../programs/worker_arguments.ts";
import { testDatabaseUrl, uniqueSchema } from "../support/test_database.ts";
import { gone, Program, residentBytes } from "./program.ts";
import { SHOP, Stage, workerPid } from "./shop_stage.ts";

Deno.test("the worker program runs jobs, says each step of its life, and stops on SIGTERM with code 0", async () => {
  await using stage = await Stage.open();
  await using program = stage.worker();
  await program.event("started");
  assertEquals(await stage.add(2, 3), 5);
  assertStringIncludes((await program.event("database")).database as string, "DATABASE_URL");
  assertFalse(program.stdout.includes(new URL(stage.url).password), "the password is in the log");
  assertLess(await residentBytes(program.pid), 45_000_000);
  program.signal("SIGTERM");
  assertEquals((await program.end()).code, 0);
  assertEquals(program.log.at(-1)?.event, "stopped");
});

Deno.test("a worker that waits for somebody else's migration says so, and a signal ends it", async () => {
  const url = await testDatabaseUrl();
  const schema = uniqueSchema();
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  await sql`select pg_advisory_lock(${migrationLockKey(schema)}::text::bigint)`;
  await using program = new Program("supervisor", ["--schema", schema, SHOP], { env: { DATABASE_URL: url } });
  assertMatch((await program.event("migration waits")).heldBy as string, /^pid \d+ /);
  const began = performance.now();
  program.signal("SIGTERM");
  assertEquals((await program.end()).code, 0);
  assertLess(performance.now() - began, 10_000);
  await sql.end();
});

Deno.test("a signal lets running jobs end; the same signal twice within a moment is one", async () => {
  await using stage = await Stage.open();
  await using program = stage.worker();
  await program.event("started");
  const id = await stage.runtime.enqueue("shop.sleep", { ms: 800 });
  await stage.untilRunning(id);
  program.signal("SIGINT");
  program.signal("SIGINT");
  assertEquals((await program.end()).code, 0);
  assertEquals((await stage.runtime.get(id))?.state, "completed");
});

for (const [signal, code] of [["SIGINT", 130], ["SIGTERM", 143]] as const) {
  Deno.test(`a second ${signal} ends at once, with code ${code}, and leaves no process`, async () => {
    await using stage = await Stage.open();
    await using program = stage.worker();
    await program.event("started");
    const worker = await workerPid(program);
    const id = await stage.runtime.enqueue("shop.sleep", { ms: 20_000 });
    await stage.untilRunning(id);
    program.signal(signal);
    await program.event("stopping on a signal");
    await new Promise((resolve) => setTimeout(resolve, 300));
    program.signal(signal);
    assertEquals((await program.end()).code, code);
    await gone(worker);
  });
}

Deno.test("a worker that is killed comes back, and its job is done by the next one", async () => {
  await using stage = await Stage.open();
  await using program = stage.worker();
  await program.event("started");
  const id = await stage.runtime.enqueue("shop.sleep", { ms: 1500 });
  await stage.untilRunning(id);
  Deno.kill(await workerPid(program), "SIGKILL");
  const ended = await program.event("worker ended, starting another");
  assertEquals(ended.signal, "SIGKILL");
  const result = await stage.runtime.wait(id, 25_000);
  assertEquals(result.done && result.output, "attempt 2");
  program.signal("SIGTERM");
  assertEquals((await program.end()).code, 0);
});

Deno.test("the worker stops when its supervisor is killed", async () => {
  await using stage = await Stage.open();
  await using program = stage.worker();
  await program.event("started");
  const worker = await workerPid(program);
  program.signal("SIGKILL");
  await gone(worker);
  assertMatch(program.stdout, /the supervisor is gone, stopping/);
});

Deno.test("what a function handler leaves behind is logged, and the worker goes on", async () => {
  await using stage = await Stage.open();
  await using program = stage.worker();
  await program.event("started");
  const id = await stage.runtime.enqueue("shop.stray");
  const result = await stage.runtime.wait(id, 20_000);
  assertEquals(result.done && result.state, "completed");
  await program.until(
    "both errors",
    () => /left behind/.test(program.stdout) && /thrown late/.test(program.stdout),
  );
  assertEquals((await program.event("output")).text, "printed 1 { a: 2 }");
  assertEquals(await stage.add(1, 1), 2);
  assertEquals(program.log.filter((line) => line.event === "worker starting").length, 1);
});

Deno.test("--queues works a subset", async () => {
  await using stage = await Stage.open();
  await using program = stage.worker(["--queues", "side", "--threads", "1"]);
  assertEquals((await program.event("started")).queues, "side");
  const other = await stage.runtime.enqueue("shop.add", { a: 1, b: 2 });
  const side = await stage.runtime.enqueue("shop.slow_side", { ms: 1 });
  assertEquals((await stage.runtime.wait(side, 20_000)).done, true);
  assertEquals((await stage.runtime.get(other))?.state, "pending");
});

Deno.test("a mistake ends the program with a code and a sentence, and is not tried again", async () => {
  const url = await testDatabaseUrl();
  const cases: [args: string[], code: number, says: string, env?: Record<string, string>][] = [
    [[], 2, "No module is given"],
    [["--quues", "a", SHOP], 2, "There is no option --quues"],
    [["--queues", "side,nowhere", SHOP], 2, 'Cannot work the queue "nowhere"'],
    [["--threads", "0", SHOP], 2, '--threads "0": expected an integer from 1 to 256'],
    [["--hosts", "0", SHOP], 2, '--hosts "0": expected an integer from 1 to 1024'],
    [["--schema", "pg_jobs", SHOP], 2, 'Cannot use --schema "pg_jobs"'],
    [["--config", "nope.json", SHOP], 2, 'Cannot use "nope.json": expected a file that is there'],
    [[SHOP], 2, "expected DATABASE_URL to be set, or --embedded", { DATABASE_URL: "" }],
    [["--migrate", "--no-migrate", SHOP], 2, "Cannot use --migrate and --no-migrate together"],
    [["tests/programs/apps/not_there.ts"], 1, "Cannot load the application"],
    [["tests/programs/apps/add.ts"], 1, "expected a default export"],
    [["tests/programs/apps/unknown_queue.ts"], 1, "the composition has 2 fault(s)"],
    [["--schema", uniqueSchema(), "tests/programs/apps/broken_handler.ts"], 1, "does not load"],
    [[SHOP], 1, "127.0.0.1:1", { DATABASE_URL: "postgres://postgres:s3cret@127.0.0.1:1/nothing" }],
  ];
  for (const [args, code, says, env] of cases) {
    await using program = new Program("supervisor", args, { env: { DATABASE_URL: url, ...env } });
    const status = await program.end();
    assertEquals(status.code, code, `${args}: ${program.stdout}${program.stderr}`);
    assertStringIncludes(program.stderr, says);
    assertFalse((program.stdout + program.stderr).includes("s3cret"));
  }
  await using help = new Program("supervisor", ["--help"]);
  assertEquals((await help.end()).code, 0);
  assert(help.stdout.startsWith("Works the jobs"), help.stdout);
  const { values = [], flags = [] } = WORKER_ARGUMENTS;
  for (const text of ["Usage: deno task worker", ...[...values, ...flags].map((name) => `  --${name} `)]) {
    assertStringIncludes(help.stdout, text);
  }
});

Deno.test("with --embedded, and without DATABASE_URL, the PostgreSQL under .millrace is used, said, and ended", async () => {
  const cwd = await Deno.makeTempDir({ prefix: "an app in " });
  await Deno.chmod(cwd, 0o755);
  try {
    await using program = new Program("supervisor", [
      "--embedded",
      new URL("./apps/shop.ts", import.meta.url).href,
    ], {
      cwd,
      env: { DATABASE_URL: "" },
    });
    const server = await program.event("postgres started");
    assertStringIncludes(
      (await program.event("database")).database as string,
      `${await Deno.realPath(cwd)}/.millrace`,
    );
    await program.event("started");
    program.signal("SIGTERM");
    assertEquals((await program.end()).code, 0);
    await gone(server.pid as number);
  } finally {
    await Deno.remove(cwd, { recursive: true });
  }
});
