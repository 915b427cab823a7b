import { assertEquals, assertGreaterOrEqual, assertLess } from "@std/assert";
import { Site } from "./support/site.ts";

Deno.test("the delay of a retry counts from the failure, not from the start of a long run", async () => {
  await using site = await Site.open();
  await site.working();
  const id = await site.enqueue("fail", { ms: 700 });
  const job = await site.until(id, "retryable");
  const failedAt = Date.parse(job.errors[0]!.at);
  const delayMs = Date.parse(job.scheduledAt) - failedAt;
  // The kind's backoff is 100 ms, with 10 % of jitter; the run took 700 ms.
  assertGreaterOrEqual(delayMs, 85);
  assertLess(delayMs, 400);
  assertGreaterOrEqual(failedAt - Date.parse(job.claimedAt!), 650);
  const ended = await site.until(id, "discarded");
  assertEquals(ended.errors.length, 3);
});
