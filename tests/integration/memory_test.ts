import { assertEquals, assertLess } from "@std/assert";
import { eventually } from "../conformance/eventually.ts";
import { residentBytes } from "../programs/program.ts";
import { Site } from "./support/site.ts";

const MB = 1_000_000;

Deno.test("an idle runtime with two threads stays under 120 MB", async () => {
  await using site = await Site.open();
  const worker = await site.working();
  // Both threads are up and have worked.
  const held = await Promise.all([1, 2, 3, 4].map(() => site.enqueue("hold")));
  for (const id of held) await site.started(id);
  site.gate.open();
  for (const id of held) await site.until(id, "completed");
  await eventually(async () => {
    const bytes = await residentBytes(worker.pid);
    assertLess(bytes, 120 * MB, `it has ${Math.round(bytes / MB)} MB`);
    return true;
  });
});

Deno.test("out of memory in a host process fails that job alone, as memory; its neighbours complete uncharged", async () => {
  await using site = await Site.open();
  const worker = await site.working();
  const neighbours = await Promise.all([1, 2].map(() => site.enqueue("hold")));
  for (const id of neighbours) await site.started(id);
  const capped = await site.enqueue("capped");
  const job = await site.until(capped, "discarded", 30_000);
  assertEquals(job.errors.map((error) => error.class), ["memory", "memory", "memory"]);
  assertEquals(site.journal.starts(capped).length, 3);
  site.gate.open();
  for (const id of neighbours) {
    const { attempt, errors, output } = await site.until(id, "completed");
    assertEquals([attempt, errors, output], [1, [], worker.pid]);
  }
});
