import { assert, assertEquals, assertLess, assertNotEquals } from "@std/assert";
import { eventually } from "../conformance/eventually.ts";
import { Site } from "./support/site.ts";

/** The design's 30 s at a tenth, and what a loaded machine adds. */
const BACK_IN_LINE_MS = 6000;

Deno.test("a worker killed mid-job: the job pays an attempt, is in line again in time and runs alone", async () => {
  await using site = await Site.open();
  const [one, other] = await Promise.all([site.working(), site.working()]);
  const id = await site.enqueue("hold");
  const victim = await site.started(id);
  const killedAt = performance.now();
  (victim === one.pid ? one : other).signal("SIGKILL");
  const next = await site.started(id, 2);
  assertLess(performance.now() - killedAt, BACK_IN_LINE_MS);
  assertNotEquals(next, victim);
  const survivor = victim === one.pid ? other : one;
  assertNotEquals(next, survivor.pid, "it does not run alone in a host process");
  assertEquals((await site.runtime.get(id))!.alone, true);
  site.gate.open();
  const job = await site.until(id, "completed");
  assertEquals([job.attempt, job.run], [2, 2]);
  assertEquals(job.errors.map((error) => [error.attempt, error.class]), [[1, "worker lost"]]);
  assertEquals(job.output, next);
});

Deno.test("what a killed worker had merely claimed is free, and runs as if nothing had been", async () => {
  await using site = await Site.open({ config: { concurrency: 1, settings: { prefetchMs: 5000 } } });
  const doomed = await site.working();
  // A rate makes it claim ahead. Jobs of less than a millisecond would have their starts recorded ahead too.
  const warm = await site.runtime.enqueueMany(
    Array.from({ length: 40 }, () => ({ kind: "plain", args: site.args({ ms: 5 }) })),
  );
  await site.until(warm.at(-1)!, "completed");
  const held = await site.enqueue("hold");
  await site.started(held);
  const behind = await site.runtime.enqueueMany(
    Array.from({ length: 20 }, () => ({ kind: "plain", args: site.args() })),
  );
  await eventually(async () => (await site.runtime.list({ state: "running", limit: 100 })).length > 5);
  doomed.signal("SIGKILL");
  await doomed.end();
  site.gate.open();
  await site.working();
  for (const id of behind) {
    const job = await site.until(id, "completed");
    assertEquals([job.attempt, job.errors, job.alone], [1, [], false]);
    assertEquals(site.journal.starts(id).length, 1);
  }
  assertEquals((await site.until(held, "completed")).attempt, 2);
});

Deno.test("a worker stopped mid-job gives it back uncharged at once, and ends with code 0", async () => {
  await using site = await Site.open();
  const [one, other] = await Promise.all([site.working(), site.working()]);
  const id = await site.enqueue("hold");
  const first = await site.started(id);
  const [stopped, next] = first === one.pid ? [one, other] : [other, one];
  stopped.signal("SIGTERM");
  // Its own grace is 1 s; a rescue would take longer than this.
  assertEquals(await site.started(id, 2), next.pid);
  site.gate.open();
  const job = await site.until(id, "completed");
  assertEquals([job.attempt, job.run, job.errors, job.alone], [1, 2, [], false]);
  assertEquals((await stopped.end()).code, 0);
  assertEquals(next.log.some((line) => line.event === "jobs of a lost process rescued"), false);
});

Deno.test("a worker frozen past its heartbeat: the fence refuses its result, and it works on under a new id", async () => {
  await using site = await Site.open();
  const [one, other] = await Promise.all([site.working(), site.working()]);
  const id = await site.enqueue("hold", { deaf: true });
  const first = await site.started(id);
  const [zombie, next] = first === one.pid ? [one, other] : [other, one];
  const before = (await zombie.event("started")).owner;
  zombie.signal("SIGSTOP");
  await next.event("jobs of a lost process rescued");
  await site.started(id, 2);
  assertEquals((await site.runtime.get(id))!.run, 2);
  zombie.signal("SIGCONT");
  await zombie.event("this process was taken for dead, its jobs run elsewhere; going on under a new id");
  assertEquals((await site.runtime.get(id))!.state, "running", "the zombie changed the job");
  site.gate.open();
  const job = await site.until(id, "completed");
  assertEquals([job.attempt, job.run], [2, 2]);
  assertNotEquals(job.output, zombie.pid, "the zombie's result was kept");
  next.signal("SIGTERM");
  await next.end();
  assertEquals((await site.until(await site.enqueue("plain"), "completed")).output, zombie.pid);
  const owners = await site.sql.unsafe(`select id from ${site.schema}.worker`);
  assertEquals(owners.length, 1);
  assert(owners[0]!.id !== before, "it works under its old id");
});
