/** What logical replication or a restore of the tables alone leaves: a sequence behind the ids that are in use. */
import { assert, assertEquals, assertInstanceOf, assertRejects, assertStringIncludes } from "@std/assert";
import { IdSequenceBehindError, StatementTimeoutError } from "../../../ports/errors.ts";
import { back, gate, newJob, type StoreFixture, withStore } from "../fixture_test.ts";

type Store = StoreFixture["store"];

const LOST = { message: "the process stopped renewing" };

/** The next job gets the id 100, which an older one has in the history. */
async function takeInHistory(store: Store, older: { kind?: string; key?: string } = {}): Promise<void> {
  await store.database.query(
    `insert into {schema}.job_history (
      id, kind, queue, state, priority, scheduled_at, enqueued_at, finished_at, attempt, max_attempts, run, snoozes,
      alone, args, unique_key
    ) values (100, $1::text, 'q', 'completed', 2, now(), now(), now(), 1, 3, 1, 0, false, '{"older": true}',
      decode($2::text, 'hex'))`,
    [older.kind ?? "older", older.key ?? null],
  );
  await setSequence(store, 100);
}

async function setSequence(store: Store, next: number): Promise<void> {
  await store.database.query(
    `select setval('${store.database.quotedSchema}.job_id_seq', $1::text::bigint, false)`,
    [String(next)],
  );
}

async function beatOf(store: Store, owner: string): Promise<string> {
  return (await store.beat(crypto.randomUUID())).owners.find(({ id }) => id === owner)!.beat;
}

const WAYS: Readonly<Record<string, (fixture: StoreFixture) => Promise<string>>> = {
  "a settlement": async ({ store, claim, finish }) => {
    await store.insert([newJob(), newJob()]);
    await finish(await claim());
    return "completed";
  },
  "a cancel that was asked for": async ({ store, claim }) => {
    await store.insert([newJob()]);
    const [job] = await claim();
    await store.cancel("100");
    assertEquals(await store.settle([back(job!, "retry")]), ["cancelled"]);
    return "cancelled";
  },
  "a cancel of one that waits": async ({ store }) => {
    await store.insert([newJob()]);
    assertEquals(await store.cancel("100"), { result: "cancelled", state: "cancelled" });
    return "cancelled";
  },
  "a rescue": async ({ store, owner, claim }) => {
    await store.insert([newJob({ maxAttempts: 1 })]);
    await claim();
    const rescued = await store.rescue(owner, await beatOf(store, owner), LOST);
    assertEquals([rescued.discarded, rescued.complete], [["100"], true]);
    return "discarded";
  },
  "completeIn": async ({ store, claim }) => {
    await store.insert([newJob()]);
    const [job] = await claim();
    const rows = await store.database.transaction((tx) =>
      Promise.resolve(tx.unsafe(store.completion.text, [job!.id, job!.run, null]))
    );
    assertEquals(rows.length, 1);
    return "completed";
  },
};

for (const [name, end] of Object.entries(WAYS)) {
  Deno.test(`a job whose id an older one has in the history ends: ${name}`, () =>
    withStore(async (fixture) => {
      const { store } = fixture;
      await takeInHistory(store);
      const state = await end(fixture);
      const job = await store.get("100");
      assertEquals([job?.kind, job?.state], ["k", state]);
      assertEquals(await store.purge({ completedMs: 0, othersMs: 0, limit: 10 }) > 0, true);
    }));
}

Deno.test("an older job that makes room gives up its unique key", () =>
  withStore(async ({ store, claim, finish }) => {
    const [older] = await store.insert([newJob({ kind: "older", unique: true })]);
    await finish(await claim());
    await store.database.query("update {schema}.job_history set id = 100");
    await store.database.query("update {schema}.job_key set job_id = 100");
    await setSequence(store, 100);
    await store.insert([newJob()]);
    await finish(await claim());
    assertEquals((await store.get("100"))?.kind, "k");
    const [again] = await store.insert([newJob({ kind: "older", unique: true })]);
    assertEquals([again?.existed, again?.id === older?.id], [false, false]);
  }));

Deno.test("while the job runs, get(), wait() and retry() mean it and not the older one of its id", () =>
  withStore(async ({ store, claim }) => {
    await takeInHistory(store);
    await store.insert([newJob()]);
    await claim();
    assertEquals((await store.get("100"))?.kind, "k");
    assertEquals(await store.finals(["100"]), { ended: [], missing: [] });
    await assertRejects(() => store.retry("100"), Error, "runs");
  }));

Deno.test("an enqueue whose id is taken moves the sequence ahead and succeeds", () =>
  withStore(async ({ store }) => {
    await store.insert([newJob(), newJob(), newJob()]);
    for (const unique of [false, true]) {
      await setSequence(store, 1);
      const inserted = await store.insert([newJob({ unique, args: `{"unique": ${unique}}` })]);
      assert(Number(inserted[0]!.id) > 3, inserted[0]!.id);
    }
    await setSequence(store, 1);
    assert(Number((await store.insertAndSignal([newJob()]))[0]!.id) > 3);
  }));

Deno.test("in a caller's transaction that is a typed error, and the next transaction succeeds", () =>
  withStore(async ({ store }) => {
    await store.insert([newJob()]);
    await setSequence(store, 1);
    const enqueue = () => store.database.transaction((tx) => store.insert([newJob()], tx));
    const error = await assertRejects(enqueue);
    assertInstanceOf(error, IdSequenceBehindError);
    assertEquals(error.isMended, true);
    assertStringIncludes(error.message, `${store.database.quotedSchema}.job_id_seq`);
    assertEquals((await enqueue()).length, 1);
  }));

Deno.test("an outage while the sequence should be moved is told as such, and the next enqueue moves it", () =>
  withStore(async ({ store }) => {
    await store.insert([newJob(), newJob(), newJob()]);
    await setSequence(store, 1);
    const locked = gate();
    const done = gate();
    const locking = store.database.transaction(async (tx) => {
      await tx.unsafe(`lock table ${store.database.quotedSchema}.job_history in access exclusive mode`, []);
      locked.open();
      await done.opened;
    });
    try {
      await locked.opened;
      await assertRejects(() => store.insert([newJob()]), StatementTimeoutError);
      await assertRejects(
        () => store.database.transaction((tx) => store.insert([newJob()], tx)),
        StatementTimeoutError,
      );
    } finally {
      done.open();
      await locking;
    }
    await setSequence(store, 1);
    assert(Number((await store.insert([newJob()]))[0]!.id) > 3);
  }, { statementTimeoutMs: 1000 }));

Deno.test("a store that opens moves the sequence ahead of the ids in use, and says so", async () => {
  const lines: string[] = [];
  const note = (event: string) => void lines.push(event);
  const log = { debug: () => {}, info: note, warn: note, error: note };
  await withStore(async ({ store }) => {
    await takeInHistory(store);
    await store.open();
    assertEquals(lines.filter((line) => line.includes("was moved ahead")).length, 1);
    assert(Number((await store.insert([newJob()]))[0]!.id) > 100);
    await store.open();
    assertEquals(lines.length, 1);
  }, { log });
});
