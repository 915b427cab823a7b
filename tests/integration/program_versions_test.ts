import { assertEquals, assertStringIncludes } from "@std/assert";
import { PostgresDatabase } from "../../adapters/postgres/connection/database.ts";
import { createRuntime } from "../../mod.ts";
import { PROTOCOL } from "../../ports/protocol.ts";
import { eventually } from "../conformance/eventually.ts";
import { testDatabaseUrl } from "../support/test_database.ts";
import { runtimeOptions } from "./programs/composition.ts";
import { Site } from "./support/site.ts";

Deno.test("jobs of a newer program's kind are put aside uncharged and counted, and run when one starts that knows them", async () => {
  await using site = await Site.open();
  const old = await site.working();
  await using newer = createRuntime(
    runtimeOptions({ url: await testDatabaseUrl(), schema: site.schema, kinds: ["plain", "newer"] }),
  );
  const ids = await newer.enqueueMany([1, 2, 3].map(() => ({ kind: "newer", args: site.args() })));
  await eventually(async () => (await site.runtime.overview()).undeclared === 3);
  const aside = (await site.runtime.get(ids[0]!))!;
  assertEquals([aside.state, aside.attempt, aside.errors], ["pending", 0, []]);
  // Out of the way: what the old one knows goes on, and it is told once per job, not over and over.
  await site.until(await site.enqueue("plain"), "completed", 3000);
  const told = () => old.log.filter((line) => line.event.startsWith("kind not declared here"));
  await old.until("word of each", () => told().length >= 3);
  assertEquals(told().length, 3);
  const undeclared = (await site.runtime.overview()).kinds.find(({ kind }) => kind === "newer");
  assertEquals([undeclared?.declared, undeclared?.states.pending], [false, 3]);

  // While an old one works on beside the new one, it may be the quicker of the two again.
  old.signal("SIGTERM");
  await old.end();
  await site.working({ kinds: ["plain", "newer"] });
  for (const id of ids) {
    const job = await site.until(id, "completed", 15_000);
    assertEquals([job.attempt, job.errors], [1, []]);
  }
  assertEquals((await site.runtime.overview()).undeclared, 0);
});

Deno.test("a program that is too old for the schema does not start, says so, and changes nothing", async () => {
  await using site = await Site.open();
  await site.sql.unsafe(
    `insert into ${site.schema}.migration (part, version, name, least_version) values ('jobs', 99, 'of the future', 99)`,
  );
  const old = site.worker();
  assertEquals((await old.end()).code, 3);
  assertStringIncludes(old.log.at(-1)!.error as string, "SchemaVersionError");
  assertStringIncludes(old.log.at(-1)!.error as string, "at version 99, this program needs");
  assertEquals((await site.sql.unsafe(`select from ${site.schema}.worker`)).length, 0);
});

Deno.test("a program whose schema is not migrated does not start, and says what to do", async () => {
  const runtime = createRuntime(runtimeOptions({ url: await testDatabaseUrl(), schema: "not_there_at_all" }));
  const error = await runtime.start().then(() => null, (error) => error as Error);
  await runtime.stop();
  assertEquals(error?.name, "SchemaVersionError");
  assertStringIncludes(error!.message, "migrate");
});

Deno.test("when a migration raises the protocol the old process ends what it runs, and the new one does the rest", async () => {
  const raise = { version: 1, name: "raise", up: "select 1", down: "select 1", leastProtocol: PROTOCOL + 1 };
  await using site = await Site.open();
  const database = PostgresDatabase.connect({
    url: await testDatabaseUrl(),
    schema: site.schema,
    poolSize: 1,
  });
  const old = await site.working({ inline: true });
  const held = await site.enqueue("hold");
  await site.started(held);
  await database.migrate("probe", [raise], { breaking: true });
  const told = () =>
    old.log.filter((line) => line.event.startsWith("this program is too old for the schema"));
  await old.until("word that it is too old", () => told().length > 0);
  const next = await site.enqueue("plain");

  const late = site.worker();
  assertEquals((await late.end()).code, 3);
  assertStringIncludes(late.log.at(-1)!.error as string, "ProtocolTooOldError");
  assertStringIncludes(late.log.at(-1)!.error as string, `protocol ${PROTOCOL}`);
  assertStringIncludes(late.log.at(-1)!.error as string, `requires ${PROTOCOL + 1}`);
  assertEquals((await site.runtime.get(next))!.state, "pending");

  const newer = await site.working({ inline: true, protocol: PROTOCOL + 1 });
  assertEquals((await site.until(next, "completed")).output, newer.pid);
  site.gate.open();
  const job = await site.until(held, "completed");
  assertEquals([job.attempt, job.run, job.output], [1, 1, old.pid]);
  assertEquals(told().length, 1);
  old.signal("SIGTERM");
  assertEquals((await old.end()).code, 0);

  // Taken back: both programs work again.
  newer.signal("SIGTERM");
  await newer.end();
  await database.migrateDown("probe", [raise]);
  const back = await site.working({ inline: true });
  assertEquals((await site.until(await site.enqueue("plain"), "completed")).output, back.pid);
  await database.close();
});
