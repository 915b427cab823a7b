import { assertEquals, assertStringIncludes } from "@std/assert";
import postgres from "postgres";
import { PostgresDatabase } from "../../adapters/postgres/connection/database.ts";
import { JOB_STEPS, JOBS_PART } from "../../adapters/postgres/schema/schema.ts";
import { createRuntime, type PostgresRuntime } from "../../mod.ts";
import { eventually } from "../conformance/eventually.ts";
import { testDatabaseUrl, uniqueSchema } from "../support/test_database.ts";
import { release } from "./apps/releases/release.ts";
import { Program } from "./program.ts";

const DEADLINE_MS = 15_000;
const NEWER = "the schema is newer than this program, which can go on with it";

/** A schema of one's own, releases of an application at work on it, and a runtime that enqueues and looks. */
class Fleet implements AsyncDisposable {
  readonly #programs: Program[] = [];

  private constructor(readonly url: string, readonly schema: string, readonly runtime: PostgresRuntime) {}

  static async open(): Promise<Fleet> {
    const [url, schema] = [await testDatabaseUrl(), uniqueSchema()];
    const all = release({ number: 0, steps: 0, kinds: ["stock.count", "stock.recount"] });
    return new Fleet(url, schema, createRuntime({ ...all, url, schema, poolSize: 4 }));
  }

  /** Starts the worker program with a release. */
  start(number: 1 | 2 | 3, ...options: string[]): Program {
    const args = [...options, "--schema", this.schema, `tests/programs/apps/releases/${number}.ts`];
    const program = new Program("worker", args, { env: { DATABASE_URL: this.url } });
    this.#programs.push(program);
    return program;
  }

  async started(number: 1 | 2 | 3, ...options: string[]): Promise<Program> {
    const program = this.start(number, ...options);
    await program.event("started");
    return program;
  }

  /** Starts one that must not work, and resolves to what it says. */
  async refused(number: 1 | 2 | 3, ...options: string[]): Promise<string> {
    const program = this.start(number, ...options);
    assertEquals((await program.end()).code, 1, program.stdout + program.stderr);
    return program.stderr;
  }

  /** Does a job, and resolves to which release has done it. */
  async done(kind: string): Promise<unknown> {
    return await this.output(await this.runtime.enqueue(kind));
  }

  async output(id: string): Promise<unknown> {
    const result = await this.runtime.wait(id, DEADLINE_MS);
    return result.done ? result.output : result;
  }

  /** The version that a part's tables are at. */
  async version(part: string): Promise<number> {
    return await this.runtime.database.migratedTo(part);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const program of this.#programs) await program[Symbol.asyncDispose]();
    await this.runtime.stop();
    const sql = postgres(this.url, { max: 1, onnotice: () => {} });
    await sql`drop schema if exists ${sql(this.schema)} cascade`;
    await sql.end();
  }
}

async function stopped(program: Program): Promise<void> {
  program.signal("SIGTERM");
  assertEquals((await program.end()).code, 0);
}

Deno.test("two releases side by side, a restart of the older one, a roll-back: no job is lost, and each start says where the tables are newer", async () => {
  await using fleet = await Fleet.open();
  const older = await fleet.started(1);
  assertEquals(await fleet.version("stock"), 1);
  const newer = await fleet.started(2);
  assertEquals(await fleet.version("stock"), 2);
  assertEquals(older.log.concat(newer.log).filter(({ event }) => event === NEWER), []);
  assertEquals(await fleet.done("stock.recount"), "release 2");
  // The next release of Millrace itself has been there too.
  const later = {
    version: JOB_STEPS.length + 1,
    name: "later",
    up: "create table {schema}.later ()",
    down: "drop table {schema}.later",
  };
  const database = PostgresDatabase.connect({ url: fleet.url, schema: fleet.schema, listen: "off" });
  await database.migrate(JOBS_PART, [...JOB_STEPS, later]);
  await database.close();

  await Promise.all([stopped(older), stopped(newer)]);
  const back = await fleet.started(1);
  const said = back.log.filter(({ event }) => event === NEWER);
  assertEquals(said.map(({ part, version, known }) => [part, version, known]), [
    [JOBS_PART, later.version, JOB_STEPS.length],
    ["stock", 2, 1],
  ]);
  const hook = new Program("migrate", ["--schema", fleet.schema], { env: { DATABASE_URL: fleet.url } });
  assertEquals((await hook.end()).code, 0, hook.stderr);
  assertEquals(await fleet.version(JOBS_PART), later.version);
  assertEquals(await fleet.done("stock.count"), "release 1");
  const waiting = await fleet.runtime.enqueue("stock.recount");
  await eventually(async () => (await fleet.runtime.overview()).undeclared === 1, DEADLINE_MS);
  await fleet.started(2);
  assertEquals(await fleet.output(waiting), "release 2");
});

Deno.test("a step that older releases can't go on with waits for --migrate; then they don't start, and those in between do", async () => {
  await using fleet = await Fleet.open();
  assertStringIncludes(await fleet.refused(1, "--no-migrate"), "version 0, this program needs");
  assertEquals(await fleet.version(JOBS_PART), 0);
  const oldest = await fleet.started(1);
  const older = await fleet.started(2);
  const unasked = await fleet.refused(3);
  for (const word of ["step 3 (no more numbers) of stock", "--migrate"]) assertStringIncludes(unasked, word);
  assertStringIncludes(await fleet.refused(3, "--no-migrate"), "version 2, this program needs 3");
  assertEquals(await fleet.version("stock"), 2);
  const newer = await fleet.started(3, "--migrate");
  assertEquals(await fleet.version("stock"), 3);
  assertStringIncludes(await fleet.refused(1), "older programs can't go on");
  await oldest.until("word that it is too old", () => oldest.stdout.includes("this program is too old"));
  for (let job = 0; job < 5; job++) assertEquals(await fleet.done("stock.count"), "release 2");

  // The kind that the newer release has removed: its jobs wait for a release that has it.
  await stopped(older);
  const removed = await fleet.runtime.enqueue("stock.count");
  await eventually(async () => (await fleet.runtime.overview()).undeclared === 1, DEADLINE_MS);
  await stopped(newer);
  const back = await fleet.started(2);
  assertEquals(back.log.filter(({ event }) => event === NEWER).map(({ part }) => part), ["stock"]);
  assertEquals(await fleet.output(removed), "release 2");
});
