import { assert, assertLess } from "@std/assert";
import { churn } from "./testdata/churn.ts";

Deno.test("20,000 short jobs, then 200 that each end their thread: threads are replaced at once, memory levels off", async () => {
  const begin = performance.now();
  const rss = await churn(20_000, 200, 4);
  // Restarts that were slowed down to five in ten seconds would take minutes.
  assertLess(performance.now() - begin, 60_000);
  assert(rss.at(-1)! < rss[1]! + 40, `resident MiB: ${rss}`);
});

Deno.test("20,000 short jobs, then 2,000 that each end their thread: memory levels off", async () => {
  const rss = await churn(20_000, 2000, 10);
  assert(rss.at(-1)! < rss[5]! + 40, `resident MiB: ${rss}`);
});
