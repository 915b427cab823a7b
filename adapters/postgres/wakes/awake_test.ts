import { assert, assertEquals } from "@std/assert";
import type { Signal } from "../../../ports/store.ts";
import type { TxParam } from "../../../ports/tx.ts";
import { back, newJob, type StoreFixture, until, withStore } from "../fixture_test.ts";

const MARKED = "select from {schema}.awake where queue = 'q' and until > clock_timestamp()";
const READY: Signal = { type: "ready", queue: "q" };

async function isMarked({ store }: StoreFixture): Promise<boolean> {
  return (await store.database.query(MARKED)).length > 0;
}

/** Claims what it enqueues until the queue is marked. So many that a slow machine is busy enough too. */
async function claimUntilMarked(fixture: StoreFixture, limit = 500): Promise<void> {
  await until("the mark", async () => {
    await fixture.store.insert(Array.from({ length: 400 }, () => newJob()));
    await fixture.finish(await fixture.claim(limit));
    return await isMarked(fixture);
  });
}

/** Does something, again if the mark did not last until it was done: a slow machine may take longer than that. */
async function whileMarked<T>(fixture: StoreFixture, body: () => Promise<T>): Promise<T> {
  let result: T;
  await until("all while it is marked", async () => {
    await claimUntilMarked(fixture);
    result = await body();
    return await isMarked(fixture);
  });
  return result!;
}

/** What is heard of the queue, and how many signals came before one that is always sent. */
async function listen(
  { store }: StoreFixture,
): Promise<{ heard: Signal[]; heardBefore(): Promise<Signal[]> }> {
  const heard: Signal[] = [];
  await store.subscribe({ signal: (signal) => heard.push(signal), ready: () => {} });
  return {
    heard,
    async heardBefore() {
      await store.signal([{ type: "cancel", id: "1" }]);
      await until("the last signal", () => heard.some(({ type }) => type === "cancel"));
      return heard.splice(0).filter(({ type }) => type !== "cancel");
    },
  };
}

Deno.test("while a queue is claimed from without a pause nobody is woken for it, and others are", () =>
  withStore(async (fixture) => {
    const { store, claim } = fixture;
    await store.register({ id: crypto.randomUUID(), name: "others", queues: ["other", "another"] });
    const ears = await listen(fixture);
    const heard = await whileMarked(fixture, async () => {
      await ears.heardBefore();
      // The second of each kind is not asked about again.
      for (let time = 0; time < 2; time++) {
        await store.database.transaction((tx) => store.insert([newJob()], tx));
        await store.database.transaction((tx) => store.insert([newJob(), newJob()], tx));
        await store.insertAndSignal([newJob()]);
        await store.signal([READY]);
      }
      assert((await store.nextDue("q"))! <= 5, "it promised to claim again at once");
      return await ears.heardBefore();
    });
    assertEquals(heard, []);
    assertEquals((await claim(500)).length, 8);
    await store.insertAndSignal([newJob({ queue: "other" })]);
    await store.signal([{ type: "ready", queue: "another" }]);
    await until("the others' signals", () => ears.heard.length === 2);
  }, { listen: "auto" }));

Deno.test("a mark is withdrawn when there is less to claim, claims go on at growing pauses, and then wake-ups are back", () =>
  withStore(async (fixture) => {
    const { store, claim } = fixture;
    const ears = await listen(fixture);
    assertEquals(await store.nextDue("q"), null);
    await claimUntilMarked(fixture);
    let askedAt = 0;
    await until("the withdrawal", async () => {
      askedAt = performance.now();
      await claim();
      return !await isMarked(fixture);
    });
    const pauses: number[] = [];
    await until("the last pause", async () => {
      const pause = await store.nextDue("q");
      if (pause === null) return true;
      const goneMs = performance.now() - askedAt;
      assert(
        pause <= Math.max(25, goneMs),
        `${pause} ms, where the mark has been gone for ${goneMs} at most`,
      );
      pauses.push(pause);
      await new Promise((resolve) => setTimeout(resolve, pause));
      await claim();
      return false;
    });
    assert(pauses.length > 0, "nobody asked for another claim");
    // The looks behind the position add some of 100 ms.
    assert(pauses.length < 25, `${pauses}`);
    await ears.heardBefore();
    await store.database.transaction((tx) => store.insert([newJob()], tx));
    await store.insertAndSignal([newJob()]);
    await store.signal([READY]);
    assertEquals(await ears.heardBefore(), [READY, READY, READY]);
  }, { listen: "auto" }));

Deno.test("a marked process that can't take all that there is wakes the others", () =>
  withStore(async (fixture) => {
    const ears = await listen(fixture);
    await claimUntilMarked(fixture, 300);
    await ears.heardBefore();
    await until("a call for help", async () => {
      await fixture.store.insert(Array.from({ length: 300 }, () => newJob()));
      await fixture.finish(await fixture.claim(300));
      return ears.heard.length > 0;
    });
    assertEquals(ears.heard[0], READY);
  }, { listen: "auto" }));

Deno.test("a process that is off the record leaves no mark", () =>
  withStore(async (fixture) => {
    await claimUntilMarked(fixture);
    await fixture.store.unregister(fixture.owner);
    assertEquals((await fixture.store.database.query("select from {schema}.awake")).length, 0);
  }));

Deno.test("what a marked process gives back is told to the others", () =>
  withStore(async (fixture) => {
    const { store } = fixture;
    const ears = await listen(fixture);
    await store.insert([newJob()]);
    const [job] = await fixture.claim();
    const silent = await whileMarked(fixture, async () => {
      await ears.heardBefore();
      await store.signal([READY]);
      return await ears.heardBefore();
    });
    assertEquals(silent, [], "it is marked");
    await store.settle([back(job!, "release")]);
    await store.signal([READY]);
    assertEquals(await ears.heardBefore(), [READY]);
  }, { listen: "auto" }));

/** Enqueues a job in each of the ways in which one can be, and waits until what is known of the queue is asked again. */
async function enqueueInEveryWay({ store }: StoreFixture): Promise<void> {
  await store.database.transaction((tx) => store.insert([newJob()], tx));
  await store.database.transaction((tx) => store.insert([newJob(), newJob()], tx));
  await store.database.transaction((tx) =>
    store.insert([newJob({ unique: true, args: `"${Math.random()}"` })], tx)
  );
  await store.database.query("select {schema}.enqueue('k')");
  await store.insertAndSignal([newJob()]);
  await store.insertAndSignal([newJob(), newJob()]);
  await store.insertAndSignal([newJob(), newJob({ priority: 1 })]);
  await store.signal([READY]);
  await new Promise((resolve) => setTimeout(resolve, 30));
}

const WAYS = 8;

Deno.test("a queue that no process works wakes nobody, and wakes again once one is on the record, dead or alive", () =>
  withStore(async (fixture) => {
    const { store, owner } = fixture;
    await store.declare({ kinds: [{ name: "k", queue: "q", maxAttempts: 3 }], queues: ["q"] });
    const ears = await listen(fixture);
    await enqueueInEveryWay(fixture);
    assertEquals((await ears.heardBefore()).length, WAYS);
    await store.unregister(owner);
    await enqueueInEveryWay(fixture);
    assertEquals(await ears.heardBefore(), []);
    // As a program enters itself that knows nothing of it, and dies.
    await store.database.query(
      `insert into {schema}.worker (id, name, queues) values (gen_random_uuid(), 'old', '["q", "other"]')`,
    );
    await enqueueInEveryWay(fixture);
    assertEquals((await ears.heardBefore()).length, WAYS);
    const [dead] = (await store.beat(owner)).owners;
    await store.rescue(dead!.id, dead!.beat, { message: "it died" });
    await enqueueInEveryWay(fixture);
    assertEquals(await ears.heardBefore(), []);
  }, { listen: "auto" }));

Deno.test("a paused queue wakes nobody, and wakes again once it is resumed", () =>
  withStore(async (fixture) => {
    const { store } = fixture;
    await store.declare({ kinds: [{ name: "k", queue: "q", maxAttempts: 3 }], queues: ["q"] });
    const ears = await listen(fixture);
    await store.pauseQueue("q");
    await enqueueInEveryWay(fixture);
    assertEquals(await ears.heardBefore(), []);
    await store.resumeQueue("q");
    await enqueueInEveryWay(fixture);
    assertEquals((await ears.heardBefore()).length, WAYS);
  }, { listen: "auto" }));

Deno.test("a mark from a time when the clock was ahead silences nobody", () =>
  withStore(async (fixture) => {
    const { store, owner } = fixture;
    await store.declare({ kinds: [{ name: "k", queue: "q", maxAttempts: 3 }], queues: ["q"] });
    const ears = await listen(fixture);
    const mark = (until: string) =>
      store.database.query(
        `insert into {schema}.awake (queue, owner, until) values ('q', $1::text::uuid, ${until})
        on conflict (queue, owner) do update set until = excluded.until`,
        [owner],
      );
    await mark("clock_timestamp() + interval '50 s'");
    await enqueueInEveryWay(fixture);
    assertEquals(await ears.heardBefore(), []);
    await mark("clock_timestamp() + interval '30 days'");
    await enqueueInEveryWay(fixture);
    assertEquals((await ears.heardBefore()).length, WAYS);
  }, { listen: "auto" }));

/** Asks and wakes, wakes, or neither. */
const [ASKS, WAKES, NEITHER] = [[true, true], [false, true], [false, false]];

Deno.test("whether somebody is to be woken the database is not asked at each enqueue", () =>
  withStore(async ({ store, owner }) => {
    const statementsOfTwo = async () => {
      const statements: string[] = [];
      await store.database.transaction(async (tx) => {
        const watched = {
          unsafe: (text: string, params: TxParam[]) => (statements.push(text), tx.unsafe(text, params)),
        };
        await store.insert([newJob()], watched);
        await store.insert([newJob()], watched);
      });
      await new Promise((resolve) => setTimeout(resolve, 30));
      return JSON.stringify(statements.map((text) => [text.includes(".awake"), text.includes("pg_notify")]));
    };
    // A machine that is busy may take longer than an answer counts.
    const comesTo = async (first: boolean[], second: boolean[]) =>
      await until("as expected", async () => await statementsOfTwo() === JSON.stringify([first, second]));
    await comesTo(ASKS!, WAKES!);
    await store.unregister(owner);
    await comesTo(ASKS!, NEITHER!);
  }));

Deno.test("a role that may read who is awake may read who listens too, after the migration", () =>
  withStore(async ({ store }) => {
    const role = `reader_${crypto.randomUUID().slice(0, 8)}`;
    await store.migrateDown(7);
    await store.database.query(`create role ${role}`);
    try {
      await store.database.query(`grant select on {schema}.awake to ${role}`);
      await store.migrate();
      const [row] = await store.database.query(
        "select has_table_privilege($1::text, '{schema}.listening', 'SELECT') as may",
        [role],
      );
      assertEquals(row?.may, true);
    } finally {
      await store.database.query(`drop owned by ${role}`);
      await store.database.query(`drop role ${role}`);
    }
  }));
