import { assert, assertEquals, assertLess } from "@std/assert";
import { startEmbedded } from "../../embedded/mod.ts";
import { Site } from "./support/site.ts";

Deno.test("the database is restarted hard, twice, while jobs run: the worker lives and recovers alone", async () => {
  await using server = await startEmbedded({ ephemeral: true });
  await using site = await Site.open({ url: server.url });
  const worker = await site.working();
  const held = await site.enqueue("hold");
  await site.started(held);
  for (const round of [1, 2]) {
    // What runs keeps running: its end is written after the outage.
    const passing = await site.enqueue("plain", { ms: 300 });
    await site.started(passing);
    Deno.kill(server.pid, "SIGKILL");
    await server.restart(300);
    const job = await site.until(passing, "completed");
    assertEquals([job.attempt, site.journal.starts(passing).length], [1, 1], `round ${round}`);
    await worker.event("listening again", round);
    const began = performance.now();
    await site.started(await site.enqueue("plain"));
    assertLess(performance.now() - began, 15_000);
  }
  site.gate.open();
  const job = await site.until(held, "completed");
  assertEquals([job.attempt, job.run, job.errors], [1, 1, []]);
  assertEquals(site.journal.starts(held).length, 1);
  const troubles = worker.log.filter((line) => line.level === "warn" || line.level === "error");
  assert(
    troubles.length <= 40,
    `${troubles.length} lines of trouble for two outages of less than a second or so`,
  );
  worker.signal("SIGTERM");
  assertEquals((await worker.end()).code, 0);
});
