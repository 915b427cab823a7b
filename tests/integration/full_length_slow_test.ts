import { assert, assertEquals, assertLess } from "@std/assert";
import { eventually } from "../conformance/eventually.ts";
import { DEFAULT_SETTINGS } from "../../runtime/settings.ts";
import { Site } from "./support/site.ts";

// What users get, not a tenth of it. A second is added for the machine.
const RESCUE_MS_MAX = 31_000;
const FAILOVER_MS_MAX = 16_500;
const STOP_EXTRA_MS_MAX = 3500;

Deno.test("with the default times a killed process's job is in line again within 30 s, and its lead within 15 s", async () => {
  await using site = await Site.open({ config: { settings: DEFAULT_SETTINGS } });
  const first = await site.working();
  const leader = async () => (await site.sql.unsafe(`select owner from ${site.schema}.leader`))[0]?.owner;
  const led = await eventually(leader, 20_000);
  const id = await site.enqueue("hold");
  await site.started(id);
  await site.working();
  const killedAt = performance.now();
  first.signal("SIGKILL");
  await eventually(async () => await leader() !== led, FAILOVER_MS_MAX);
  assertLess(performance.now() - killedAt, FAILOVER_MS_MAX);
  await eventually(() => site.journal.starts(id).length === 2, RESCUE_MS_MAX);
  assertLess(performance.now() - killedAt, RESCUE_MS_MAX);
  site.gate.open();
  assertEquals((await site.until(id, "completed")).attempt, 2);
});

Deno.test("with the default times a stop waits 10 s for a job, gives it back uncharged and ends within 3 s more", async () => {
  await using site = await Site.open({ config: { settings: DEFAULT_SETTINGS } });
  const worker = await site.working();
  const id = await site.enqueue("hold");
  await site.started(id);
  const stoppedAt = performance.now();
  worker.signal("SIGTERM");
  assertEquals((await worker.end()).code, 0);
  const tookMs = performance.now() - stoppedAt;
  const { stopGraceMs } = DEFAULT_SETTINGS;
  assert(tookMs > stopGraceMs - 500 && tookMs < stopGraceMs + STOP_EXTRA_MS_MAX, `it took ${tookMs} ms`);
  const job = await site.until(id, "pending");
  assertEquals([job.attempt, job.errors], [0, []]);
});
