import { assert, assertEquals, assertInstanceOf } from "@std/assert";
import type { Json } from "../../ports/json.ts";
import { JobRunningError } from "../../ports/errors.ts";
import { eventually } from "../conformance/eventually.ts";
import type { WorkerConfig } from "./programs/composition.ts";
import { Site } from "./support/site.ts";
import { supervise } from "./support/supervise.ts";

async function tenAndABomb(site: Site, config: Partial<WorkerConfig>): Promise<number> {
  const bomb = await site.enqueue("bomb");
  const plain = await Promise.all(Array.from({ length: 10 }, () => site.enqueue("plain")));
  const over = (async () => {
    await site.until(bomb, "discarded", 60_000);
    for (const id of plain) await site.until(id, "completed", 60_000);
  })();
  const deaths = await supervise(site, config, over);
  const job = (await site.runtime.get(bomb))!;
  assert(site.journal.starts(bomb).length <= 3, `${site.journal.starts(bomb).length} starts`);
  assertEquals([job.attempt, job.errors.length], [3, 3]);
  assertEquals(job.errors[0]!.class, "worker lost");
  for (const id of plain) assert((await site.runtime.get(id))!.attempt <= 3);
  return deaths;
}

Deno.test("a module that kills its process: 3 starts in all, the later ones alone in a host process, neighbours complete", async () => {
  await using site = await Site.open();
  const deaths = await tenAndABomb(site, {});
  // From its second attempt on it can hurt no one.
  assertEquals(deaths, 1);
  const pids = site.journal.starts().filter(({ attempt }) => attempt > 1).map(({ pid }) => pid);
  assert(new Set(pids).size >= 2);
});

Deno.test("a function that kills its process: 3 starts in all, then it is discarded, neighbours complete", async () => {
  await using site = await Site.open();
  const deaths = await tenAndABomb(site, { inline: true });
  assertEquals(deaths, 3);
});

Deno.test("retry of a job that was discarded with its process runs it at least once more and keeps its errors", async () => {
  await using site = await Site.open();
  const bomb = await site.enqueue("bomb");
  const discarded = site.until(bomb, "discarded", 60_000);
  await supervise(site, {}, discarded);
  const before = (await site.runtime.get(bomb))!;
  const other = site.worker();
  await other.event("started");
  await site.runtime.retry(bomb);
  const after = await site.until(bomb, "discarded");
  assertEquals([after.attempt, after.maxAttempts, after.errors.length], [4, 4, 4]);
  assertEquals(after.errors.slice(0, 3) as unknown as Json, before.errors as unknown as Json);
  const held = await site.enqueue("hold");
  await site.started(held);
  assertInstanceOf(await site.runtime.retry(held).catch((error) => error), JobRunningError);
});

Deno.test("functions that were in a process when it died run one at a time beside other jobs, can be cancelled, and go back at a stop", async () => {
  await using site = await Site.open({ config: { inline: true } });
  const doomed = await site.working();
  const ids = await Promise.all([1, 2, 3].map(() => site.enqueue("hold")));
  for (const id of ids) await site.started(id);
  doomed.signal("SIGKILL");
  const worker = await site.working();
  const running = () =>
    eventually(() => site.journal.starts().find((entry) => entry.attempt === 2 && isOpen(entry.id))?.id);
  const over = new Set<string>();
  const isOpen = (id: string) => !over.has(id);
  const first = await running();
  // The others wait, and hold no slot of the five meanwhile.
  const others = await Promise.all([1, 2, 3, 4].map(() => site.enqueue("hold")));
  for (const id of others) await site.started(id);
  await site.runtime.cancel(first);
  await site.until(first, "cancelled");
  over.add(first);
  const second = await running();
  assertEquals(site.journal.starts().filter((entry) => entry.attempt === 2).map(({ id }) => id), [
    first,
    second,
  ]);
  worker.signal("SIGTERM");
  assertEquals((await worker.end()).code, 0);
  for (const id of ids.filter(isOpen)) {
    const job = (await site.runtime.get(id))!;
    assertEquals([job.state, job.attempt, job.errors.length, job.alone], ["retryable", 1, 1, true]);
  }
  site.gate.open();
  await site.working();
  for (const id of ids.filter(isOpen)) assertEquals((await site.until(id, "completed")).attempt, 2);
  for (const id of others) assertEquals((await site.until(id, "completed")).attempt, 1);
});

Deno.test("modules that were in a process when it died hold up no others, however long they take", async () => {
  await using site = await Site.open();
  const doomed = await site.working();
  const ids = await Promise.all([1, 2, 3, 4, 5].map(() => site.enqueue("hold")));
  for (const id of ids) await site.started(id);
  doomed.signal("SIGKILL");
  await site.working();
  const first = await eventually(() => site.journal.starts().find(({ attempt }) => attempt === 2)?.id);
  // One slot of five is a suspect's, for as long as it takes.
  const others = await Promise.all(Array.from({ length: 3 }, () => site.enqueue("hold")));
  for (const id of others) await site.started(id);
  for (const id of await Promise.all(Array.from({ length: 20 }, () => site.enqueue("plain")))) {
    await site.until(id, "completed");
  }
  assertEquals(site.journal.starts().filter(({ attempt }) => attempt === 2).map(({ id }) => id), [first]);
  site.gate.open();
  for (const id of [...ids, ...others]) await site.until(id, "completed");
});

Deno.test("many jobs that were in a process when it died are not claimed and put back again and again", async () => {
  for (const inline of [true, false]) {
    await using site = await Site.open({ config: { inline, concurrency: 40 } });
    const doomed = await site.working();
    const ids = await Promise.all(Array.from({ length: 30 }, () => site.enqueue("hold")));
    for (const id of ids) await site.started(id);
    doomed.signal("SIGKILL");
    site.gate.open();
    await site.working();
    for (const id of ids) await site.until(id, "completed", 60_000);
    // Lost with the process, perhaps put back once to wait for its turn, and done.
    const runs = await Promise.all(ids.map(async (id) => (await site.runtime.get(id))!.run));
    assert(Math.max(...runs) <= 5, `${runs}`);
  }
});
