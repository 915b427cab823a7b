import { assert, assertEquals, assertLess } from "@std/assert";
import { channelName } from "../../adapters/postgres/sql/identifiers.ts";
import { SIGNALS_CHANNEL } from "../../adapters/postgres/wakes/signals.ts";
import { Site } from "./support/site.ts";

Deno.test("the listener's connection is ended: what is enqueued in the gap and after it starts within 3 s", async () => {
  // Polls are so rare that only the listener can be quick.
  await using site = await Site.open({ config: { settings: { pollMs: 60_000 } } });
  const worker = await site.working();
  const listens = `listen "${channelName(site.schema, SIGNALS_CHANNEL)}"`;
  const [listener] = await site.sql`select pid from pg_stat_activity where query = ${listens}`;
  assert(listener !== undefined, "there is no listener");
  await site.sql`select pg_terminate_backend(${listener.pid})`;
  const began = performance.now();
  const inGap = await site.enqueue("plain");
  await site.started(inGap);
  assertLess(performance.now() - began, 30_000);
  await worker.event("listening again");
  const after = performance.now();
  await site.started(await site.enqueue("plain"));
  assertLess(performance.now() - after, 30_000, "the wake-up does not come through again");
  assertEquals(worker.log.filter((line) => line.event === "listening broke off").length, 1);
});

Deno.test("args of any size and the longest schema name wake an idle worker", async () => {
  await using site = await Site.open({ config: { settings: { pollMs: 60_000 } } });
  await site.working();
  for (
    const note of ["a".repeat(7900), "\u{1f600}".repeat(7900), "b".repeat(20_000), "c".repeat(1_000_000)]
  ) {
    const began = performance.now();
    const plain = await site.runtime.enqueue("plain", { ...site.args(), note });
    await site.started(plain);
    const inTransaction = await site.sql.begin((tx) =>
      site.runtime.with(tx).enqueue("plain", { ...site.args(), note })
    );
    await site.started(inTransaction);
    assertLess(performance.now() - began, 30_000);
  }
});
