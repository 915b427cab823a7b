import { assertEquals } from "@std/assert";
import { createMemoryStore } from "../../adapters/memory/memory_store.ts";
import { PostgresDatabase } from "../../adapters/postgres/connection/database.ts";
import { Relay } from "../../events/_relay.ts";
import { resolveEventSettings } from "../../events/settings.ts";
import { createMemoryRuntime, silentLog } from "../../mod.ts";
import { DatabaseUnavailableError, RuntimeStateError } from "../../ports/errors.ts";
import { Leader } from "../../runtime/_leader.ts";
import { Ticker } from "../../runtime/_ticker.ts";
import { UpkeepRecords } from "../../runtime/_upkeep.ts";
import { createExecutor } from "../../workers/executor.ts";
import { eventually } from "../conformance/eventually.ts";
import { Bus, keeping } from "../events/support/bus.ts";
import { stressStartStop } from "../support/start_stop.ts";
import { testDatabaseUrl, uniqueSchema } from "../support/test_database.ts";

const refuses = (error: unknown) => error instanceof RuntimeStateError;

Deno.test("starts and stops: a ticker", async () => {
  let running = 0;
  await stressStartStop(
    () =>
      new Ticker({
        everyMs: 60_000,
        run: async () => {
          running++;
          await Promise.resolve();
          running--;
        },
      }),
    {
      assertGone: () => {
        assertEquals(running, 0);
        return Promise.resolve();
      },
    },
  );
});

Deno.test("starts and stops: the leader", async () => {
  const store = createMemoryStore();
  const owners: string[] = [];
  await stressStartStop(() => {
    const owner = crypto.randomUUID();
    owners.push(owner);
    return new Leader({
      store,
      owner: () => owner,
      leaseMs: 60_000,
      onLeading: () => {},
      upkeep: new UpkeepRecords(silentLog),
      log: silentLog,
    });
  }, {
    // The lease is free: another one gets it at once.
    assertGone: async () => {
      assertEquals(await store.lead("another", 60_000), true);
      await store.resign("another");
    },
  });
});

Deno.test("starts and stops: an executor", async () => {
  await stressStartStop(() => {
    const executor = createExecutor({ log: silentLog, threads: 1 });
    return {
      start: () => executor.start({ onThreadLost: () => {} }),
      stop: () => executor.stop(),
    };
  });
});

Deno.test("starts and stops: a runtime in memory", async () => {
  const store = createMemoryStore();
  await stressStartStop(
    () =>
      createMemoryRuntime({
        store,
        registrars: [{
          kinds: [{ name: "k", queue: "default", maxAttempts: 1, timeout: 1000, handler: () => {} }],
        }],
        log: silentLog,
      }),
    {
      mayRefuse: refuses,
      assertGone: async () => assertEquals((await store.beat("nobody")).owners, []),
    },
  );
});

Deno.test("starts and stops: a relay", async () => {
  await using bus = await Bus.open();
  const runtime = bus.runtime([keeping("s").subscription]);
  const database = PostgresDatabase.connect({ url: bus.url, schema: bus.schema, log: silentLog });
  let listening = 0;
  const listen = database.listen.bind(database);
  database.listen = async (channel, observer) => {
    const subscription = await listen(channel, observer);
    listening++;
    return {
      listening: subscription.listening,
      close: () => {
        listening--;
        return subscription.close();
      },
    };
  };
  try {
    await stressStartStop(
      () =>
        new Relay({
          database,
          jobs: runtime,
          composition: runtime.composition,
          settings: resolveEventSettings({}),
          onFanout: () => {},
          upkeep: new UpkeepRecords(silentLog),
        }),
      {
        assertGone: async () => {
          assertEquals(listening, 0);
          assertEquals((await database.query("select owner from {schema}.relay")).length, 0);
        },
      },
    );
  } finally {
    await database.close();
  }
});

Deno.test("starts and stops: a listener, by its subscriptions", async () => {
  const url = await testDatabaseUrl();
  await stressStartStop(() => {
    const database = PostgresDatabase.connect({ url, schema: uniqueSchema(), log: silentLog });
    return {
      start: async () => {
        await database.listen("a", { message: () => {}, ready: () => {} });
      },
      stop: () => database.close(),
    };
  }, { rounds: 1, mayRefuse: (error) => error instanceof DatabaseUnavailableError });
});

Deno.test("starts and stops: a runtime on PostgreSQL with its relay, listener and pool", async () => {
  await using bus = await Bus.open();
  // Each runtime's sessions carry this name.
  const application = `start_stop_${crypto.randomUUID().slice(0, 8)}`;
  const url = new URL(bus.url);
  url.searchParams.set("application_name", application);
  await stressStartStop(() => bus.runtime([keeping("s").subscription], { url: url.href }), {
    rounds: 1,
    mayRefuse: refuses,
    assertGone: async () => {
      await eventually(async () => {
        const [row] = await bus.sql`
          select count(*)::int as sessions from pg_stat_activity where application_name = ${application}`;
        return row!.sessions === 0;
      });
      const tables = bus.sql(bus.schema);
      assertEquals((await bus.sql`select id from ${tables}.worker`).length, 0);
      assertEquals((await bus.sql`select owner from ${tables}.relay`).length, 0);
    },
  });
});
