import { assert, assertEquals, assertLess } from "@std/assert";
import { Site } from "./support/site.ts";

/** Just below what is allowed. */
const LARGEST = 1_048_000;

Deno.test("100 jobs of 1 MB: list and overview answer in under 1 s with previews, get returns all of it", async () => {
  await using site = await Site.open();
  const note = "m".repeat(LARGEST);
  const ids: string[] = [];
  for (let n = 0; n < 101; n++) ids.push(await site.runtime.enqueue("plain", { n, note }));
  const took = async <T>(call: () => Promise<T>): Promise<[T, number]> => {
    const began = performance.now();
    return [await call(), performance.now() - began];
  };
  const [list, listMs] = await took(() => site.runtime.list({ limit: 1000 }));
  assertLess(listMs, 1000);
  assertEquals(list.length, 101);
  assert(JSON.stringify(list).length < 100_000, "the list sends more than previews");
  const [overview, overviewMs] = await took(() => site.runtime.overview());
  assertLess(overviewMs, 1000);
  assertEquals(overview.states.pending, 101);
  const job = (await site.runtime.get(ids[50]!))!;
  assertEquals((job.args as { note: string }).note.length, LARGEST);
});
