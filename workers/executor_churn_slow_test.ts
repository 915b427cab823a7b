import { assert } from "@std/assert";
import { churn } from "./testdata/churn.ts";

Deno.test("20,000 short jobs, then 2,000 that each end their thread: memory levels off", async () => {
  const rss = await churn(20_000, 2000, 10);
  assert(rss.at(-1)! < rss[5]! + 40, `resident MiB: ${rss}`);
});
