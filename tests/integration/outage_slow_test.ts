import { assertEquals } from "@std/assert";
import { startEmbedded } from "../../embedded/mod.ts";
import { eventually } from "../conformance/eventually.ts";
import { Site } from "./support/site.ts";

Deno.test("an outage shorter and longer than the heartbeat rescues nobody", async () => {
  await using server = await startEmbedded({ ephemeral: true });
  await using site = await Site.open({ url: server.url });
  const workers = await Promise.all([site.working(), site.working()]);
  const held = await Promise.all([1, 2, 3, 4].map(() => site.enqueue("hold")));
  for (const id of held) await site.started(id);
  Deno.kill(server.pid, "SIGKILL");
  // Longer than a process may be silent.
  await server.restart(1800);
  await Promise.all(workers.map((worker) => worker.event("listening again")));
  await eventually(async () => (await site.sql.unsafe(`select from ${site.schema}.worker`)).length === 2);
  site.gate.open();
  for (const id of held) {
    const job = await site.until(id, "completed");
    assertEquals([job.attempt, job.run, job.errors], [1, 1, []]);
  }
  assertEquals(
    workers.flatMap(({ log }) => log).filter((line) => /rescued|taken for dead/.test(line.event)),
    [],
  );
});
