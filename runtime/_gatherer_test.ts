import { assertEquals, assertRejects } from "@std/assert";
import { DatabaseUnavailableError, RefusedValueError } from "../ports/errors.ts";
import type { NewJob, Store } from "../ports/store.ts";
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
  const gatherer = new Gatherer(store, () => false);
  const inserted = await Promise.all(["1", "2", "3"].map((args) => gatherer.insert(job(args))));
  assertEquals(inserted.map((each) => each.id), ["1", "2", "3"]);
  assertEquals(batches, [3]);
});

Deno.test("Gatherer takes the signal along with jobs that are due now, when one may be sent", async () => {
  const signalled: string[][] = [];
  const { store, batches } = storing(() => Promise.resolve());
  const withSignal = {
    ...store,
    insertAndSignal: (jobs: readonly NewJob[]) => {
      signalled.push(jobs.map(({ args }) => args));
      return Promise.resolve(jobs.map(({ args }) => ({ id: args, existed: false })));
    },
  } as Store;
  let may = true;
  const gatherer = new Gatherer(withSignal, () => may);
  assertEquals(await gatherer.insert(job("1")), { id: "1", existed: false, signalled: true });
  const two = await Promise.all([gatherer.insert(job("2")), gatherer.insert(job("3"))]);
  assertEquals(two.map((each) => [each.id, each.signalled]), [["2", true], ["3", true]]);
  const later = { ...job("4"), runAt: "2100-01-01T00:00:00.000Z" };
  assertEquals((await gatherer.insert(later)).signalled, false);
  may = false;
  assertEquals((await gatherer.insert(job("5"))).signalled, false);
  assertEquals([signalled, batches], [[["1"], ["2", "3"]], [1, 1]]);
});

Deno.test("Gatherer lets what is refused fail alone, also by somebody's trigger", async () => {
  const raised = Object.assign(new Error("not this one"), { code: "P0001" });
  for (const refusal of [new RefusedValueError("22P05", "refused", {}), raised]) {
    const { store } = storing((jobs) =>
      jobs.some((each) => each.args === '"bad"') ? Promise.reject(refusal) : Promise.resolve()
    );
    const gatherer = new Gatherer(store, () => false);
    const good = [gatherer.insert(job("1")), gatherer.insert(job("2"))];
    await assertRejects(() => gatherer.insert(job('"bad"')), refusal.constructor as ErrorConstructor);
    assertEquals((await Promise.all(good)).length, 2);
  }
});

Deno.test("Gatherer does not send again what may have committed", async () => {
  const { store, batches } = storing(() => Promise.reject(new DatabaseUnavailableError("gone")));
  const gatherer = new Gatherer(store, () => false);
  const calls = await Promise.allSettled([gatherer.insert(job("1")), gatherer.insert(job("2"))]);
  assertEquals(calls.map((call) => call.status), ["rejected", "rejected"]);
  assertEquals(batches, [2]);
});

Deno.test("Gatherer keeps large args apart", async () => {
  const { store, batches } = storing(() => Promise.resolve());
  const gatherer = new Gatherer(store, () => false);
  await Promise.all(Array.from({ length: 8 }, () => gatherer.insert(job(`"${"x".repeat(1024 * 1024)}"`))));
  assertEquals(batches.length > 1 && Math.max(...batches) <= 4, true, `batches of ${batches}`);
});
