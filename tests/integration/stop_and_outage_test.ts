import { assertEquals, assertLess } from "@std/assert";
import { createRuntime } from "../../mod.ts";
import { startEmbedded } from "../../embedded/mod.ts";
import { eventually } from "../conformance/eventually.ts";
import { testDatabaseUrl } from "../support/test_database.ts";
import { runtimeOptions } from "./programs/composition.ts";
import { Site } from "./support/site.ts";
import { TcpProxy } from "./support/tcp_proxy.ts";

Deno.test("stop() in time: what runs completes with one attempt, what waits does not start", async () => {
  await using site = await Site.open({ config: { concurrency: 3, settings: { stopGraceMs: 10_000 } } });
  const worker = await site.working();
  const running = await Promise.all([1, 2, 3].map(() => site.enqueue("hold")));
  for (const id of running) await site.started(id);
  const waiting = await Promise.all([1, 2, 3, 4, 5].map(() => site.enqueue("plain")));
  worker.signal("SIGTERM");
  await worker.event("stopping");
  site.gate.open();
  assertEquals((await worker.end()).code, 0);
  for (const id of running) {
    const job = await site.runtime.get(id);
    assertEquals([job?.state, job?.attempt, job?.run], ["completed", 1, 1]);
  }
  for (const id of waiting) {
    const job = await site.runtime.get(id);
    assertEquals([job?.state, job?.attempt], ["pending", 0]);
    assertEquals(site.journal.starts(id), []);
  }
});

Deno.test("stop() twice at once and once more; a handler that enqueues after stop() was called has stored its job", async () => {
  await using site = await Site.open();
  const called = Promise.withResolvers<void>();
  const options = runtimeOptions({ url: await testDatabaseUrl(), schema: site.schema });
  let inner = "";
  const outer = {
    name: "outer",
    queue: "second",
    maxAttempts: 1,
    timeout: 10_000,
    handler: async () => {
      await called.promise;
      inner = await runtime.enqueue("plain", site.args());
    },
  };
  const runtime = createRuntime({ ...options, registrars: [...options.registrars, { kinds: [outer] }] });
  await runtime.start();
  const id = await runtime.enqueue("outer");
  await site.until(id, "running");
  const stops = [runtime.stop(), runtime.stop()];
  called.resolve();
  await Promise.all(stops);
  await runtime.stop();
  assertEquals((await site.runtime.get(id))!.state, "completed");
  assertEquals((await site.runtime.get(inner))!.state, "pending");
});

Deno.test("handlers that finish while the database is frozen: their ends are written after it, and nothing runs twice", async () => {
  await using server = await startEmbedded({ ephemeral: true });
  await using site = await Site.open({ url: server.url });
  const worker = await site.working();
  const ids = await Promise.all([1, 2, 3].map(() => site.enqueue("hold")));
  for (const id of ids) await site.started(id);
  const processes = [server.pid, ...await children(server.pid)];
  for (const pid of processes) Deno.kill(pid, "SIGSTOP");
  try {
    site.gate.open();
    await eventually(() => site.journal.ends().length === 3, 10_000);
    // Longer than the process may be silent: it must not be taken for dead by itself either.
    await new Promise((resolve) => setTimeout(resolve, 2500));
  } finally {
    for (const pid of processes) Deno.kill(pid, "SIGCONT");
  }
  for (const id of ids) {
    const job = await site.until(id, "completed");
    assertEquals([job.attempt, job.run, job.errors], [1, 1, []]);
  }
  await site.until(await site.enqueue("plain"), "completed");
  assertEquals(site.journal.starts().length, 4);
  assertEquals(worker.log.some((line) => line.event.includes("taken for dead")), false);
});

Deno.test("handlers that finish while the network is gone: their ends are written after it, and nothing runs twice", async () => {
  await using proxy = new TcpProxy(await testDatabaseUrl());
  await using site = await Site.open({ through: proxy.url });
  await site.working();
  const ids = await Promise.all([1, 2, 3].map(() => site.enqueue("hold")));
  for (const id of ids) await site.started(id);
  proxy.refuse();
  site.gate.open();
  await eventually(() => site.journal.ends().length === 3, 10_000);
  await new Promise((resolve) => setTimeout(resolve, 1000));
  assertEquals((await site.runtime.get(ids[0]!))!.state, "running");
  proxy.restore();
  for (const id of ids) assertEquals((await site.until(id, "completed")).run, 1);
  assertEquals(site.journal.starts().length, 3);
});

Deno.test("stop() without a database ends in its time, and another worker runs the job", async () => {
  await using proxy = new TcpProxy(await testDatabaseUrl());
  await using site = await Site.open({ through: proxy.url });
  const cut = await site.working();
  const id = await site.enqueue("hold");
  await site.started(id);
  proxy.refuse();
  const began = performance.now();
  cut.signal("SIGTERM");
  assertEquals((await cut.end()).code, 0);
  // The grace of 1 s and 3 s.
  assertLess(performance.now() - began, 4200);
  site.gate.open();
  await site.working({ url: await testDatabaseUrl() });
  assertEquals((await site.until(id, "completed")).run, 2);
});

/** The processes of a database server. */
async function children(pid: number): Promise<number[]> {
  const text = await Deno.readTextFile(`/proc/${pid}/task/${pid}/children`);
  return text.split(" ").filter((each) => each !== "").map(Number);
}
