import { assertEquals } from "@std/assert";
import type { Subscription } from "../../mod.ts";
import type { InOrder } from "../../ports/event.ts";
import { eventually } from "../conformance/eventually.ts";
import { TcpProxy } from "../integration/support/tcp_proxy.ts";
import { Bus, keeping, placed } from "./support/bus.ts";

const DEADLINE_MS = 30_000;

/** A subscription that takes events in order, and what it took in transactions that were committed. */
class Taking {
  readonly #bus: Bus;
  readonly subscription: Subscription;

  private constructor(bus: Bus, inOrder: InOrder) {
    this.#bus = bus;
    this.subscription = keeping("taking", { inOrder }).subscription;
  }

  static async open(
    bus: Bus,
    { isWanted = true, most = Infinity, refused = new Set<string>() } = {},
  ): Promise<Taking> {
    await bus.sql.unsafe(
      `create table ${bus.schema}.taken (place bigint generated always as identity, id uuid not null)`,
    );
    return new Taking(bus, {
      isWanted: () => Promise.resolve(isWanted),
      take: async (tx, eventIds) => {
        const bad = eventIds.find((id) => refused.has(id));
        if (bad !== undefined) throw new Error(`${bad} is not wanted`);
        for (const id of eventIds.slice(0, most)) {
          await tx.unsafe(`insert into {schema}.taken (id) values ($1::text::uuid)`, [id]);
        }
        return Math.min(most, eventIds.length);
      },
    });
  }

  async taken(): Promise<string[]> {
    const rows = await this.#bus.sql.unsafe(`select id::text from ${this.#bus.schema}.taken order by place`);
    return rows.map((row) => String(row.id));
  }

  async until(count: number): Promise<string[]> {
    return await eventually(async () => {
      const taken = await this.taken();
      return taken.length >= count ? taken : undefined;
    }, DEADLINE_MS);
  }
}

Deno.test("who takes events in order gets them as they were recorded, from the relays of all processes", async () => {
  await using bus = await Bus.open();
  const taking = await Taking.open(bus);
  const runtimes = [];
  for (let process = 0; process < 3; process++) runtimes.push(await bus.started([taking.subscription]));
  const ids: string[] = [];
  for (let round = 0; round < 60; round++) {
    const { recorder } = runtimes[round % runtimes.length]!;
    // Small ones that wake all relays at once, and some that fill more than a batch.
    const count = round % 20 === 10 ? 500 : 1;
    ids.push(...await recorder.recordMany(Array.from({ length: count }, () => placed(round))));
  }
  assertEquals(await taking.until(ids.length), ids);
});

Deno.test("who takes only some of the events gets the others next, and all subscribers get each event once", async () => {
  await using bus = await Bus.open();
  const taking = await Taking.open(bus, { most: 7 });
  const other = keeping("other");
  const subscriptions = [taking.subscription, other.subscription];
  const runtime = bus.runtime(subscriptions);
  const ids = await runtime.recorder.recordMany(Array.from({ length: 450 }, (_, order) => placed(order)));
  await runtime.start();
  await bus.started(subscriptions);
  assertEquals(await taking.until(ids.length), ids);
  await eventually(() => other.got.length === ids.length, DEADLINE_MS);
  assertEquals(new Set(other.got.map((event) => event.event_id)).size, ids.length);
});

Deno.test("what was committed late is taken before what was recorded after it", async () => {
  await using bus = await Bus.open();
  const taking = await Taking.open(bus);
  const runtime = await bus.started([taking.subscription]);
  const [recorded, late] = [Promise.withResolvers<string>(), Promise.withResolvers<void>()];
  const open = bus.sql.begin(async (tx) => {
    recorded.resolve(await runtime.recorder.with(tx).record(placed(1)));
    await late.promise;
  });
  const first = await recorded.promise;
  const second = await runtime.recorder.record(placed(2));
  await taking.until(1);
  late.resolve();
  await open;
  const third = await runtime.recorder.record(placed(3));
  assertEquals(await taking.until(3), [second, first, third]);
});

Deno.test("a process that is frozen while it takes events holds up the others for seconds only", async () => {
  await using bus = await Bus.open();
  const [frozen, thawed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const taking = await Taking.open(bus);
  const { inOrder } = taking.subscription;
  const freezing: InOrder = {
    isWanted: (tx) => inOrder!.isWanted(tx),
    take: async () => {
      frozen.resolve();
      await thawed.promise;
      throw new Error("it comes back to a connection that is gone");
    },
  };
  const first = await bus.started([{ ...taking.subscription, inOrder: freezing }]);
  const id = await first.recorder.record(placed(1));
  await frozen.promise;
  await bus.started([taking.subscription]);
  const later = await first.recorder.record(placed(2));
  assertEquals(await taking.until(2), [id, later]);
  thawed.resolve();
});

Deno.test("a process that did not know that the order is wanted lets nothing overtake what it has claimed", async () => {
  await using bus = await Bus.open();
  const [claimed, goOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const taking = await Taking.open(bus);
  const inOrder: InOrder = {
    ...taking.subscription.inOrder!,
    isWanted: async () => {
      claimed.resolve();
      await goOn.promise;
      return true;
    },
  };
  const first = await bus.started([{ ...taking.subscription, inOrder }]);
  const ids = [await first.recorder.record(placed(1))];
  await claimed.promise;
  ids.push(await first.recorder.record(placed(2)));
  await bus.started([taking.subscription]);
  // The second process waits for the first one, and not for long enough to end it.
  await eventually(async () => {
    const rows = await bus.sql.unsafe(`
      select from pg_locks
      where locktype = 'advisory' and not granted and objid = '${bus.schema}.subscription_set'::regclass::oid`);
    return rows.length > 0;
  }, DEADLINE_MS);
  goOn.resolve();
  assertEquals(await taking.until(2), ids);
});

Deno.test("a process that takes no answer to its claim holds up the others for seconds only", async () => {
  await using bus = await Bus.open();
  await using proxy = new TcpProxy(bus.url);
  const taking = await Taking.open(bus);
  const cutOff = await bus.started([taking.subscription], { url: proxy.url });
  // Now it knows that the order is wanted.
  const ids = [await cutOff.recorder.record(placed(1))];
  await taking.until(1);
  proxy.freezeAtLargeAnswer();
  const other = bus.runtime([taking.subscription]);
  const note = "x".repeat(400_000);
  ids.push(
    ...await other.recorder.recordMany(Array.from({ length: 12 }, (_, order) => placed(order, { note }))),
  );
  await eventually(() => proxy.isFrozen, DEADLINE_MS);
  await other.start();
  assertEquals(await taking.until(ids.length), ids);
  proxy.restore();
});

Deno.test("an event that can't be taken holds up nobody, and is poisoned", async () => {
  await using bus = await Bus.open();
  const refused = new Set<string>();
  const taking = await Taking.open(bus, { refused });
  const runtime = bus.runtime([taking.subscription]);
  const ids = await runtime.recorder.recordMany([placed(1), placed(2), placed(3)]);
  refused.add(ids[1]!);
  await runtime.start();
  await eventually(async () => (await runtime.events.backlog()).poisoned === 1, DEADLINE_MS);
  assertEquals(await taking.until(2), [ids[0]!, ids[2]!]);
  refused.clear();
  await runtime.events.requeue(ids[1]!);
  assertEquals(await taking.until(3), [ids[0]!, ids[2]!, ids[1]!]);
});

Deno.test("when nobody wants the order nothing is taken", async () => {
  await using bus = await Bus.open();
  const taking = await Taking.open(bus, { isWanted: false });
  const runtime = await bus.started([taking.subscription]);
  const id = await runtime.recorder.record(placed(1));
  assertEquals((await runtime.events.awaitFanout(id, DEADLINE_MS)).fannedOut, true);
  assertEquals(await taking.taken(), []);
});
