import { assert, assertEquals, assertLess } from "@std/assert";
import { channelName } from "../../adapters/postgres/sql/identifiers.ts";
import { SIGNALS_CHANNEL } from "../../adapters/postgres/wakes/signals.ts";
import { eventually } from "../conformance/eventually.ts";
import { Site } from "./support/site.ts";

const RIGHT_AWAY_MS = 2000;

Deno.test("no wait misses a job that another process finishes at once: 1,000 jobs, 50 at a time", async () => {
  await using site = await Site.open({ config: { concurrency: 50 } });
  const worker = await site.working();
  let left = 1000;
  const waits = async () => {
    while (left-- > 0) {
      const id = await site.enqueue("plain");
      const began = performance.now();
      const result = await site.runtime.wait(id, 10_000);
      assert(
        result.done && result.state === "completed" && result.output === worker.pid,
        JSON.stringify(result),
      );
      assertLess(performance.now() - began, RIGHT_AWAY_MS);
    }
  };
  await Promise.all(Array.from({ length: 50 }, waits));
  assertEquals(site.journal.starts().length, 1000);
});

Deno.test("wait across processes: long ended, 200 on one job, and a transaction that rolls back", async () => {
  await using site = await Site.open();
  await site.working();
  const ended = await site.enqueue("plain");
  await site.until(ended, "completed");
  await site.sql.unsafe(`
    update ${site.schema}.job_history set finished_at = finished_at - interval '1 minute' where id = ${ended}`);
  const began = performance.now();
  assertEquals((await site.runtime.wait(ended, 5000)).done, true);
  assertLess(performance.now() - began, RIGHT_AWAY_MS);

  const held = await site.enqueue("hold");
  await site.started(held);
  const all = Promise.all(Array.from({ length: 200 }, () => site.runtime.wait(held, 10_000)));
  site.gate.open();
  const states = (await all).map((result) => result.done && result.state);
  assertEquals([...new Set(states)], ["completed"]);

  let pending: Promise<unknown> = Promise.resolve();
  await site.sql.begin(async (tx) => {
    const id = await site.runtime.with(tx).enqueue("plain", site.args());
    pending = site.runtime.wait(id, 30_000);
    throw new Error("rolled back");
  }).catch(() => {});
  assertEquals(await pending, { done: false, reason: "gone" });
});

Deno.test("waits whose listener is killed half-way are answered within the poll", async () => {
  await using site = await Site.open();
  await site.working();
  const ids = await Promise.all(Array.from({ length: 20 }, () => site.enqueue("hold")));
  const waits = ids.map((id) => site.runtime.wait(id, 15_000));
  await site.started(ids[0]!);
  const listens = `listen "${channelName(site.schema, SIGNALS_CHANNEL)}"`;
  // The worker's and the waiter's.
  await eventually(async () => {
    const killed = await site.sql`
      select pg_terminate_backend(pid) from pg_stat_activity where query = ${listens}`;
    return killed.length === 2;
  });
  const began = performance.now();
  site.gate.open();
  for (const result of await Promise.all(waits)) assert(result.done && result.state === "completed");
  assertLess(performance.now() - began, 10_000);
});
