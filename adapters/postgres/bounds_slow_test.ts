import { assertEquals, assertLessOrEqual, assertRejects } from "@std/assert";
import { DatabaseUnavailableError } from "../../ports/errors.ts";
import { gate, newJob, type StoreFixture, withStore } from "./fixture_test.ts";

/** Holds a table, so that whatever touches it hangs as on a network that swallows packets. */
async function whileHeld(
  store: StoreFixture["store"],
  table: string,
  body: () => Promise<void>,
): Promise<void> {
  const [held, letGo] = [gate(), gate()];
  const holding = store.database.transaction(async (tx) => {
    await tx.unsafe(`lock table {schema}.${table}`, []);
    held.open();
    await letGo.opened;
  });
  await held.opened;
  try {
    await body();
  } finally {
    letGo.open();
    await holding;
  }
}

Deno.test("a mark that hangs is given up after 10 s, and the heartbeat goes on over a new connection", () =>
  withStore(async ({ store, owner }) => {
    await whileHeld(store, "start_mark", async () => {
      const begun = performance.now();
      await assertRejects(() => store.started(owner, [{ id: "1", run: 1 }]), DatabaseUnavailableError);
      assertLessOrEqual(performance.now() - begun, 12_000);
      assertEquals((await store.beat(owner)).alive, true);
    });
  }));

Deno.test("a claim, a settlement and a progress that hang are given up after 60 s", () =>
  withStore(async ({ store, owner, claim }) => {
    await store.insert([newJob()]);
    const [job] = await claim();
    await whileHeld(store, "job", async () => {
      const begun = performance.now();
      const end = { ...job!, to: "completed" as const, output: null, error: null };
      await Promise.all([
        assertRejects(() => store.claim({ owner, queue: "q", limit: 1, free: 1 }), DatabaseUnavailableError),
        assertRejects(() => store.settle(owner, [end]), DatabaseUnavailableError),
        assertRejects(
          () => store.progress([{ ...job!, done: 0.5, note: null }]),
          DatabaseUnavailableError,
        ),
      ]);
      assertLessOrEqual(performance.now() - begun, 65_000);
    });
  }, { poolSize: 8 }));
