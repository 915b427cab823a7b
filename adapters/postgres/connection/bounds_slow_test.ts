import { assertEquals, assertLessOrEqual, assertRejects } from "@std/assert";
import { DatabaseUnavailableError, StatementTimeoutError } from "../../../ports/errors.ts";
import { databaseUrl, gate, newJob, type StoreFixture, withStore } from "../fixture_test.ts";
import { createPostgresStore } from "../postgres_store.ts";

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

Deno.test("a mark that hangs is given up after 5 s, and the heartbeat goes on", () =>
  withStore(async ({ store, owner }) => {
    await whileHeld(store, "start_mark", async () => {
      const begun = performance.now();
      await assertRejects(() => store.started(owner, [{ id: "1", run: 1 }]), StatementTimeoutError);
      assertLessOrEqual(performance.now() - begun, 8000);
      assertEquals((await store.beat(owner)).alive, true);
    });
  }));

Deno.test("a claim, a settlement and a progress that hang are given up after 10 s", () =>
  withStore(async ({ store, owner, claim }) => {
    await store.insert([newJob()]);
    const [job] = await claim();
    await whileHeld(store, "job", async () => {
      const begun = performance.now();
      const end = { ...job!, to: "completed" as const, output: null, error: null };
      await Promise.all([
        assertRejects(() => store.claim({ owner, queue: "q", limit: 1, free: 1 }), StatementTimeoutError),
        assertRejects(() => store.settle([end]), StatementTimeoutError),
        assertRejects(() => store.progress([{ ...job!, done: 0.5, note: null }]), StatementTimeoutError),
      ]);
      assertLessOrEqual(performance.now() - begun, 15_000);
    });
  }));

/** Passes bytes on to the database until it is told to swallow them. */
async function withSwallowingProxy(
  body: (url: string, swallow: () => void) => Promise<void>,
): Promise<void> {
  const target = new URL(databaseUrl());
  const open: Deno.Conn[] = [];
  let swallows = false;
  const pass = async (from: Deno.Conn, to: Deno.Conn) => {
    const bytes = new Uint8Array(16_384);
    try {
      for (let n = await from.read(bytes); n !== null; n = await from.read(bytes)) {
        if (!swallows) await to.write(bytes.slice(0, n));
      }
    } catch {
      // Ended by the other side, or by the test.
    }
  };
  const proxy = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const serving = (async () => {
    for await (const near of proxy) {
      const far = await Deno.connect({ hostname: target.hostname, port: Number(target.port) });
      open.push(near, far);
      pass(near, far);
      pass(far, near);
    }
  })();
  const through = new URL(databaseUrl());
  [through.hostname, through.port] = ["127.0.0.1", String(proxy.addr.port)];
  try {
    await body(through.href, () => swallows = true);
  } finally {
    proxy.close();
    for (const each of open) each.close();
    await serving;
  }
}

Deno.test("a heartbeat on a network that swallows packets is given up within 10 s, so that the next one is in time", () =>
  withSwallowingProxy((url, swallow) =>
    withStore(async ({ store, owner }) => {
      assertEquals((await store.beat(owner)).alive, true);
      const inTime = createPostgresStore({ url, schema: store.database.schema, listen: "off" });
      await inTime.beat(owner);
      swallow();
      const begun = performance.now();
      await assertRejects(() => inTime.beat(owner), DatabaseUnavailableError);
      assertLessOrEqual(performance.now() - begun, 11_000);
      await inTime.close();
    })
  ));
