import { assert, assertEquals, assertLess } from "@std/assert";
import { residentBytes } from "../programs/program.ts";
import { Site } from "./support/site.ts";
import { supervise } from "./support/supervise.ts";

const MB = 1_000_000;
const JOBS = 20_000;
const WARM_UP = 2;
const ROUNDS = 6;

Deno.test("out of memory in a thread takes the program down; started again, the job ends within its attempts", async () => {
  await using site = await Site.open();
  const hog = await site.enqueue("hog");
  const plain = await Promise.all(Array.from({ length: 10 }, () => site.enqueue("plain")));
  const over = (async () => {
    await site.until(hog, "discarded", 240_000);
    for (const id of plain) await site.until(id, "completed", 60_000);
  })();
  // A small heap is full soon.
  const deaths = await supervise(site, {}, over, { DENO_V8_FLAGS: "--max-old-space-size=512" });
  // From its second attempt on it is alone in a host process.
  assertEquals(deaths, 1);
  const job = (await site.runtime.get(hog))!;
  assertEquals(job.errors[0]!.class, "worker lost");
  const starts = site.journal.starts(hog);
  assertEquals([job.attempt, starts.length], [3, 3], JSON.stringify({ starts, errors: job.errors }));
  for (const id of plain) assert((await site.runtime.get(id))!.attempt <= 2);
});

Deno.test("memory levels off: 120,000 short jobs leave less than 1 kB each behind, once 40,000 have warmed it up", async () => {
  await using site = await Site.open({ config: { concurrency: 20 } });
  const worker = await site.working();
  const round = async (): Promise<number> => {
    for (let batch = 0; batch < 40; batch++) {
      const requests = Array.from({ length: JOBS / 40 }, () => ({ kind: "plain", args: site.args() }));
      const ids = await site.runtime.enqueueMany(requests);
      await site.until(ids.at(-1)!, "completed", 60_000);
    }
    return await residentBytes(worker.pid);
  };
  const sizes: number[] = [];
  for (let count = 0; count < WARM_UP + ROUNDS; count++) sizes.push(await round());
  const grown = sizes.at(-1)! - sizes[WARM_UP - 1]!;
  assertLess(grown / (ROUNDS * JOBS), 1000, sizes.map((bytes) => `${Math.round(bytes / MB)} MB`).join(", "));
});
