import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import type { MigrationStep } from "../../../ports/database.ts";
import { ProtocolTooOldError, SchemaVersionError } from "../../../ports/errors.ts";
import { PROTOCOL } from "../../../ports/protocol.ts";
import { gate, newJob, type StoreFixture, until, withStore } from "../fixture_test.ts";
import { printMigration } from "./migrate.ts";
import { lowestProtocol } from "./protocol.ts";

const raising = (leastProtocol: number): MigrationStep => ({
  version: 1,
  name: "raise the protocol",
  up: "create table {schema}.raised ()",
  down: "drop table {schema}.raised",
  leastProtocol,
});

const raise = ({ store }: StoreFixture, least: number) =>
  store.database.migrate("probe", [raising(least)], { breaking: true });
const lower = ({ store }: StoreFixture, least: number) =>
  store.database.migrateDown("probe", [raising(least)]);

/** As a program without protocols claims: it asks nobody, and writes whether the job was put aside. */
const CLAIM_OF_OLD = `
  update {schema}.job
  set state = 'running', run = run + 1, attempt = attempt + 1, owner = $1::text::uuid, undeclared = false
  where state = 'pending'
  returning id`;

Deno.test("below the least protocol nobody gets on the record, and both numbers and what to do are said", () =>
  withStore(async (fixture) => {
    const { store } = fixture;
    await raise(fixture, PROTOCOL + 1);
    const entry = { id: crypto.randomUUID(), name: "late", queues: ["q"] };
    const error = await assertRejects(() => store.register(entry), ProtocolTooOldError);
    assertEquals([error.protocol, error.least], [PROTOCOL, PROTOCOL + 1]);
    assertStringIncludes(error.message, "deploy that program or a newer one");
    // As a program without protocols enters itself.
    const bare = "insert into {schema}.worker (id, name, queues) values (gen_random_uuid(), 'old', '[]')";
    assertEquals((await assertRejects(() => store.database.query(bare), ProtocolTooOldError)).protocol, 1);
    await store.register({ ...entry, protocol: PROTOCOL + 1 });
    await lower(fixture, PROTOCOL + 1);
    await store.register({ ...entry, id: crypto.randomUUID() });
  }));

Deno.test("a process whose protocol has become too low claims nothing more, and ends what it runs", () =>
  withStore(async (fixture) => {
    const { store, owner, claim, finish } = fixture;
    await store.insert([newJob(), newJob()]);
    const running = await claim(1);
    assertEquals((await store.beat(owner)).outdatedBy, null);
    await raise(fixture, PROTOCOL + 1);
    assertEquals(await claim(), []);
    const beat = await store.beat(owner);
    assertEquals([beat.alive, beat.outdatedBy], [true, `protocol ${PROTOCOL + 1}`]);
    await finish(running);
    assertEquals((await store.get(running[0]!.id))?.state, "completed");

    const newer = crypto.randomUUID();
    await store.register({ id: newer, name: "newer", queues: ["q"], protocol: PROTOCOL + 1 });
    assertEquals((await store.claim({ owner: newer, queue: "q", limit: 5, free: 5 })).length, 1);
    assertEquals((await store.beat(newer)).outdatedBy, null);
    await lower(fixture, PROTOCOL + 1);
    await store.insert([newJob()]);
    assertEquals((await claim()).length, 1);
  }));

Deno.test("a running program that knows no protocols claims nothing more either", () =>
  withStore(async (fixture) => {
    const { store, owner, claim } = fixture;
    const old = crypto.randomUUID();
    await store.register({ id: old, name: "old", queues: ["q"], protocol: 1 });
    await store.insert([newJob(), newJob()]);
    await raise(fixture, PROTOCOL);
    assertEquals((await store.database.query(CLAIM_OF_OLD, [old])).length, 0);
    assertEquals((await claim(1)).length, 1);
    await lower(fixture, PROTOCOL);
    assertEquals((await store.database.query(CLAIM_OF_OLD, [old])).length, 1);
    // Where there is none it costs nothing.
    await store.unregister(owner);
    await store.database.query("delete from {schema}.worker");
    await raise(fixture, PROTOCOL);
    const triggers = await store.database.query(
      "select tgname from pg_trigger where tgrelid = '{schema}.job'::regclass and not tgisinternal",
    );
    assertEquals(triggers.map(({ tgname }) => tgname).toSorted(), ["apply_rules", "bound_args"]);
  }));

Deno.test("a process that knows too few of a part's steps claims nothing more either, and nobody like it gets on the record", () =>
  withStore(async ({ store, owner, claim }) => {
    const steps = [1, 2].map((version): MigrationStep => ({
      version,
      name: `step ${version}`,
      up: `create table {schema}.part_${version} ()`,
      down: `drop table {schema}.part_${version}`,
      ...(version === 2 ? { leastVersion: 2 } : {}),
    }));
    const enter = async (parts: Record<string, number>) => {
      const entry = { id: crypto.randomUUID(), name: "w", queues: ["q"], parts };
      await store.register(entry);
      return async () => (await store.claim({ owner: entry.id, queue: "q", limit: 1, free: 1 })).length;
    };
    await store.database.migrate("part", steps.slice(0, 1));
    const knowsOne = { id: crypto.randomUUID(), name: "old", queues: ["q"], parts: { part: 1 } };
    await store.register(knowsOne);
    const claimsOfTwo = await enter({ part: 2 });
    await store.insert([newJob(), newJob(), newJob()]);
    await store.database.migrate("part", steps, { breaking: true });

    assertEquals(await store.claim({ owner: knowsOne.id, queue: "q", limit: 1, free: 1 }), []);
    const beat = await store.beat(knowsOne.id);
    assertEquals([beat.alive, beat.outdatedBy], [true, "version 2 of part"]);
    // Who knows the step goes on, and who has nothing to do with the part.
    assertEquals([await claimsOfTwo(), (await claim(1)).length], [1, 1]);
    assertEquals((await store.beat(owner)).outdatedBy, null);
    const error = await assertRejects(() => enter({ part: 1, other: 1 }), SchemaVersionError);
    assertEquals([error.found, error.needed], [2, 1]);
    assertStringIncludes(error.message, "older programs can't go on");

    await store.database.migrateDown("part", steps, 1);
    assertEquals((await store.claim({ owner: knowsOne.id, queue: "q", limit: 1, free: 1 })).length, 1);
    await enter({ part: 1 });
  }));

Deno.test("a raise waits for the claims that are under way, so that none of an old process follows it", () =>
  withStore(async (fixture) => {
    const { store, owner } = fixture;
    const claiming = gate();
    const begun = gate();
    const claim = store.database.transaction(async (tx) => {
      await tx.unsafe("select from {schema}.worker where id = $1::text::uuid for key share", [owner]);
      begun.open();
      await claiming.opened;
    });
    await begun.opened;
    let raised = false;
    const raising = raise(fixture, PROTOCOL + 1).then(() => raised = true);
    await until("the raise waits", async () => {
      const waiting = "select from pg_locks where relation = '{schema}.worker'::regclass and not granted";
      return (await store.database.query(waiting)).length > 0;
    });
    assertEquals(raised, false);
    claiming.open();
    await Promise.all([claim, raising]);
    assertEquals((await store.beat(owner)).outdatedBy, `protocol ${PROTOCOL + 1}`);
  }));

Deno.test("whether older programs are on the record can be asked", () =>
  withStore(async ({ store, owner }) => {
    assertEquals(await lowestProtocol(store.database), PROTOCOL);
    const old = crypto.randomUUID();
    await store.database.query(
      "insert into {schema}.worker (id, name, queues) values ($1::text::uuid, 'old', '[]')",
      [
        old,
      ],
    );
    assertEquals(await lowestProtocol(store.database), 1);
    await store.unregister(old);
    await store.unregister(owner);
    assertEquals(await lowestProtocol(store.database), null);
  }));

Deno.test("the SQL for people who migrate by themselves raises the protocol too", () => {
  const { up, down } = printMigration("millrace", "probe", [raising(7)]);
  assertStringIncludes(up, `set least_protocol = 7 where part = 'probe' and version = 1`);
  assertStringIncludes(down, `lock table "millrace".worker in exclusive mode`);
});
