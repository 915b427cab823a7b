import { assert, assertEquals, assertRejects } from "@std/assert";
import { JobNotFoundError, UniqueConflictError } from "../../ports/errors.ts";
import type { NewJob, Settlement, Signal } from "../../ports/store.ts";
import { createMemoryStore, type MemoryStore } from "./memory_store.ts";

const ERROR = { class: "error", message: "no" } as const;

function job(args: unknown, over: Partial<NewJob> = {}): NewJob {
  return {
    kind: "k",
    queue: "q",
    args: JSON.stringify(args),
    priority: 2,
    maxAttempts: 3,
    runAt: null,
    unique: false,
    ...over,
  };
}

async function setup(): Promise<{ store: MemoryStore; clock: { now: number } }> {
  const clock = { now: 1_000_000 };
  const store = createMemoryStore({ clock: () => clock.now });
  await store.register({ id: "me", name: "me", queues: ["q"] });
  return { store, clock };
}

async function insertOne(store: MemoryStore, one: NewJob): Promise<string> {
  return (await store.insert([one]))[0]!.id;
}

async function claimOne(store: MemoryStore, free = 1) {
  return (await store.claim({ owner: "me", queue: "q", limit: 1, free }))[0];
}

function back(
  ref: { id: string; run: number },
  to: "retry" | "snooze" | "release" | "put aside",
): Settlement {
  const { id, run } = ref;
  return { id, run, to, delayMs: 0, error: to === "retry" ? ERROR : null, alone: false };
}

Deno.test("settle() changes nothing for a run that is no longer the job's", async () => {
  const { store } = await setup();
  await insertOne(store, job(1));
  const zombie = (await claimOne(store))!;
  await store.settle([back(zombie, "release")]);
  const fresh = (await claimOne(store))!;
  assertEquals([fresh.run, fresh.attempt], [2, 1]);
  const done = { id: zombie.id, run: zombie.run, to: "completed", output: null, error: null } as const;
  assertEquals(await store.settle([done]), ["fenced"]);
  await store.progress([{ id: zombie.id, run: zombie.run, done: 1, note: null }]);
  const after = (await store.get(zombie.id))!;
  assertEquals([after.state, after.run, after.progress], ["running", 2, null]);
});

Deno.test("settle() counts snoozes and keeps attempts for failures alone", async () => {
  const { store } = await setup();
  const id = await insertOne(store, job(1));
  for (const to of ["snooze", "release", "put aside", "retry", "snooze"] as const) {
    const [claimed] = await store.claim({ owner: "me", queue: "q", limit: 1, free: 1, aside: "k" });
    await store.settle([back(claimed!, to)]);
  }
  const after = (await store.get(id))!;
  assertEquals([after.state, after.attempt, after.snoozes, after.run], ["retryable", 1, 2, 5]);
  assertEquals(after.errors.map((error) => error.attempt), [1]);
});

Deno.test("settle() keeps the first error and the newest 99", async () => {
  const { store } = await setup();
  const id = await insertOne(store, job(1, { maxAttempts: 1000 }));
  for (let count = 0; count < 130; count++) {
    await store.settle([back((await claimOne(store))!, "retry")]);
  }
  const { errors } = (await store.get(id))!;
  assertEquals([errors.length, errors[0]!.attempt, errors[1]!.attempt, errors.at(-1)!.attempt], [
    100,
    1,
    32,
    130,
  ]);
});

Deno.test("rescue() charges what had started, frees what had not, and only while the heartbeat stands", async () => {
  const { store } = await setup();
  const ids = (await store.insert([job(1), job(2, { maxAttempts: 1 }), job(3), job(4)])).map(({ id }) => id);
  await store.claim({ owner: "me", queue: "q", limit: 4, free: 3 });
  await store.cancel(ids[2]!);
  const beat = (await store.beat("other")).owners[0]!.beat;
  await store.beat("me");
  const untouched = await store.rescue("me", beat, { message: "gone" });
  assertEquals([untouched.retried, untouched.complete], [[], true]);
  const now = (await store.beat("other")).owners[0]!.beat;
  const rescued = await store.rescue("me", now, { message: "gone" });
  assertEquals(rescued, {
    retried: [ids[0]!],
    discarded: [ids[1]!],
    released: [ids[3]!],
    cancelled: [ids[2]!],
    complete: true,
    queues: ["q"],
  });
  const [first, , , last] = await Promise.all(ids.map((id) => store.get(id)));
  assertEquals([first!.state, first!.alone, first!.errors[0]!.class], ["retryable", true, "worker lost"]);
  assertEquals([last!.state, last!.attempt, last!.alone], ["pending", 0, false]);
  assertEquals((await store.beat("me")).alive, false);
  assertEquals(await store.claim({ owner: "me", queue: "q", limit: 4, free: 4 }), []);
});

Deno.test("MemoryStore counts no job that runs alone as started by its claim", async () => {
  const { store } = await setup();
  const id = await insertOne(store, job(1));
  await store.settle([{ ...back((await claimOne(store))!, "release"), alone: true } as Settlement]);
  assertEquals((await claimOne(store))?.alone, true);
  const { owners } = await store.beat("me");
  const { released } = await store.rescue("me", owners[0]!.beat, { message: "it died" });
  assertEquals(released, [id]);
});

Deno.test("MemoryTx stages inserts and cancels until it commits, and drops them when it rolls back", async () => {
  const { store } = await setup();
  const waiting = await insertOne(store, job("waits"));
  const signals: Signal[] = [];
  await store.subscribe({ signal: (signal) => signals.push(signal), ready: () => {} });
  for (const end of ["rollback", "commit"] as const) {
    const tx = store.begin();
    const [made] = await store.insert([job("new")], tx);
    assertEquals((await store.cancel(waiting, tx)).result, "cancelled");
    assertEquals(await store.get(made!.id), null);
    assertEquals((await store.get(waiting))!.state, "pending");
    await tx[end]();
    assertEquals((await store.get(made!.id))?.state, end === "commit" ? "pending" : undefined);
    assertEquals((await store.get(waiting))!.state, end === "commit" ? "cancelled" : "pending");
  }
  await Promise.resolve();
  assertEquals(signals.map(({ type }) => type), ["ready", "final"]);
});

Deno.test("MemoryTx makes whoever needs its unique key wait for its end", async () => {
  const { store } = await setup();
  const unique = job({ a: 1, b: 2 }, { unique: true });
  for (const end of ["rollback", "commit"] as const) {
    const tx = store.begin();
    const [staged] = await store.insert([job({ ...{ n: end } }, { unique: true }), unique], tx);
    assert(staged);
    const insertion = store.insert([job({ b: 2, a: 1 }, { unique: true })]);
    const winner = await Promise.race([insertion.then(() => "inserted"), soon().then(() => "waits")]);
    assertEquals(winner, "waits");
    await tx[end]();
    const [inserted] = await insertion;
    assertEquals(inserted!.existed, end === "commit");
    await store.cancel(inserted!.id);
  }
});

Deno.test("MemoryTx lets a key be released and taken again within it", async () => {
  const { store } = await setup();
  const unique = job(1, { unique: true });
  const old = await insertOne(store, unique);
  const tx = store.begin();
  await store.cancel(old, tx);
  const [made, again] = await store.insert([unique, unique], tx);
  assertEquals([made!.existed, again!.existed, again!.id], [false, true, made!.id]);
  await tx.commit();
  assertEquals(await store.insert([unique]), [{ id: made!.id, existed: true }]);
  const error = await assertRejects(() => store.retry(old), UniqueConflictError);
  assertEquals(error.holderId, made!.id);
});

Deno.test("MemoryTx completes a run once, and holds its row until it ends", async () => {
  const { store } = await setup();
  await insertOne(store, job(1));
  const claimed = (await claimOne(store))!;
  const tx = store.begin();
  const complete = (run: number) => tx.unsafe(store.completion.text, [claimed.id, run, '"out"']);
  assertEquals((await complete(claimed.run + 1)).length, 0);
  assertEquals((await complete(claimed.run)).length, 1);
  assertEquals((await complete(claimed.run)).length, 0);
  const settled = await store.settle([back(claimed, "retry")]);
  assertEquals(settled, ["locked"]);
  await tx.commit();
  assertEquals(await store.settle([back(claimed, "retry")]), ["fenced"]);
  const after = (await store.get(claimed.id))!;
  assertEquals([after.state, after.output], ["completed", "out"]);
});

Deno.test("MemoryTx refuses SQL, its use after its end, and another store's transaction", async () => {
  const { store } = await setup();
  const tx = store.begin();
  await assertRejects(() => tx.unsafe("select 1", []), TypeError, "runs no SQL");
  await assertRejects(() => createMemoryStore().insert([job(1)], tx), TypeError, "another MemoryStore");
  await assertRejects(
    () => store.insert([job(1)], { unsafe: () => Promise.resolve([]) }),
    TypeError,
    "begin()",
  );
  await tx.commit();
  await assertRejects(() => tx.commit(), TypeError, "committed or rolled back");
  await assertRejects(() => store.insert([job(1)], tx), TypeError, "committed or rolled back");
});

Deno.test("lead() gives the lease to one process, and to another only once it is over or given up", async () => {
  const { store, clock } = await setup();
  assertEquals([await store.lead("a", 100), await store.lead("b", 100)], [true, false]);
  clock.now += 60;
  assertEquals(await store.lead("a", 100), true);
  clock.now += 60;
  assertEquals(await store.lead("b", 100), false);
  clock.now += 60;
  assertEquals([await store.lead("b", 100), await store.lead("a", 100)], [true, false]);
  await store.resign("b");
  assertEquals(await store.lead("a", 100), true);
});

Deno.test("retry() of a job that is not there is a JobNotFoundError", async () => {
  const { store } = await setup();
  await assertRejects(() => store.retry("77"), JobNotFoundError, "77");
});

function soon(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 5));
}
