import { assert, assertEquals, assertLess } from "@std/assert";
import { residentBytes } from "../programs/program.ts";
import { Site } from "./support/site.ts";
import { supervise } from "./support/supervise.ts";

const MB = 1_000_000;

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

Deno.test("20,000 short jobs more cost much less memory than the first 20,000: it levels off", async () => {
  await using site = await Site.open({ config: { concurrency: 20 } });
  const worker = await site.working();
  const round = async (): Promise<number> => {
    for (let batch = 0; batch < 40; batch++) {
      const requests = Array.from({ length: 500 }, () => ({ kind: "plain", args: site.args() }));
      const ids = await site.runtime.enqueueMany(requests);
      await site.until(ids.at(-1)!, "completed", 60_000);
    }
    return await residentBytes(worker.pid);
  };
  const start = await residentBytes(worker.pid);
  const early = await round();
  const late = await round();
  const said = [start, early, late].map((bytes) => `${Math.round(bytes / MB)} MB`).join(", ");
  assertLess(late - early, (early - start) / 2, said);
});
