import { assert, assertEquals, assertGreaterOrEqual, assertLess } from "@std/assert";
import { Site } from "./support/site.ts";

const HOUR = 60 * 60 * 1000;
const EVERY_MS = 300;

for (const [name, shiftMs] of [["an hour ahead", HOUR], ["an hour behind", -HOUR]] as const) {
  Deno.test(`a worker whose clock is ${name} of the database's works as any other`, async () => {
    await using site = await Site.open();
    const begun = performance.now();
    const tick = { everyMs: EVERY_MS, journal: site.journal.path };
    const shifted = await site.working({ tick }, { CLOCK_SHIFT_MS: String(shiftMs) });
    const entry = await shifted.event("started");
    assertLess(
      Math.abs(Date.parse(entry.time as string) - Date.now() - shiftMs),
      60_000,
      "its clock is not shifted",
    );
    const right = await site.working({ tick });

    const plain = await site.enqueue("plain");
    await site.until(plain, "completed", 3000);
    // Due by the database's clock, whatever the worker's says.
    const enqueuedAt = Date.now();
    const later = await site.enqueue("plain", {}, { runAt: new Date(enqueuedAt + 1000) });
    const job = await site.until(later, "completed", 5000);
    assertGreaterOrEqual(Date.parse(job.claimedAt!), Date.parse(job.scheduledAt));
    assertLess(Date.parse(job.claimedAt!) - Date.parse(job.scheduledAt), 1000);

    const failing = await site.enqueue("fail");
    const failed = await site.until(failing, "discarded", 5000);
    assertEquals(failed.errors.length, 3);

    // Neither takes the other for dead, one leads, and the ticks are the database's.
    await new Promise((resolve) => setTimeout(resolve, 2500));
    const log = [...shifted.log, ...right.log];
    assertEquals(log.filter((line) => /taken for dead|rescued|no longer leading/.test(line.event)), []);
    assertEquals(log.filter((line) => line.event === "leading").length, 1);
    const periodic = await site.runtime.list({ kind: "periodic:tick", limit: 100 });
    const most = (performance.now() - begun) / EVERY_MS + 1;
    assert(periodic.length >= 8 && periodic.length <= most, `${periodic.length} runs, ${most} at most`);
  });
}
