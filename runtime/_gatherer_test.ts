import { assertEquals, assertRejects } from "@std/assert";
import { DatabaseUnavailableError, type NewJob, RefusedValueError, type Store } from "../ports/mod.ts";
import { Gatherer } from "./_gatherer.ts";

function job(args: string): NewJob {
  return { kind: "k", queue: "default", args, priority: 2, maxAttempts: 1, runAt: null, unique: false };
}

/** Only what a gatherer asks of a store. */
function storing(insert: (jobs: readonly NewJob[]) => Promise<void>): { store: Store; batches: number[] } {
  let last = 0;
  const batches: number[] = [];
  const store = {
    insert: async (jobs: readonly NewJob[]) => {
      batches.push(jobs.length);
      await insert(jobs);
      return jobs.map(() => ({ id: String(++last), existed: false }));
    },
  } as unknown as Store;
  return { store, batches };
}

Deno.test("Gatherer writes the enqueues of one tick in one statement, and answers each with its own id", async () => {
  const { store, batches } = storing(() => Promise.resolve());
  const gatherer = new Gatherer(store);
  const inserted = await Promise.all(["1", "2", "3"].map((args) => gatherer.insert(job(args))));
  assertEquals(inserted.map((each) => each.id), ["1", "2", "3"]);
  assertEquals(batches, [3]);
});

Deno.test("Gatherer lets a refused value fail alone", async () => {
  const { store } = storing((jobs) => {
    const bad = jobs.some((each) => each.args === '"bad"');
    return bad ? Promise.reject(new RefusedValueError("22P05", "refused", {})) : Promise.resolve();
  });
  const gatherer = new Gatherer(store);
  const good = [gatherer.insert(job("1")), gatherer.insert(job("2"))];
  await assertRejects(() => gatherer.insert(job('"bad"')), RefusedValueError);
  assertEquals((await Promise.all(good)).length, 2);
});

Deno.test("Gatherer does not send again what may have committed", async () => {
  const { store, batches } = storing(() => Promise.reject(new DatabaseUnavailableError("gone")));
  const gatherer = new Gatherer(store);
  const calls = await Promise.allSettled([gatherer.insert(job("1")), gatherer.insert(job("2"))]);
  assertEquals(calls.map((call) => call.status), ["rejected", "rejected"]);
  assertEquals(batches, [2]);
});

Deno.test("Gatherer keeps large args apart", async () => {
  const { store, batches } = storing(() => Promise.resolve());
  const gatherer = new Gatherer(store);
  await Promise.all(Array.from({ length: 8 }, () => gatherer.insert(job(`"${"x".repeat(1024 * 1024)}"`))));
  assertEquals(batches.length > 1 && Math.max(...batches) <= 4, true, `batches of ${batches}`);
});
