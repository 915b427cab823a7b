import { assert, assertEquals, assertRejects } from "@std/assert";
import { captureChanges, createRuntime, type PostgresRuntime, silentLog } from "../../mod.ts";
import { Webhooks } from "../../webhooks/mod.ts";
import { SECRET_KEY } from "../webhooks/support/composition.ts";
import { Receiver } from "../webhooks/support/receiver.ts";
import { testDatabaseUrl, uniqueSchema } from "../support/test_database.ts";
import { TestRole } from "../support/test_role.ts";
import { connectPostgres } from "./support/connect.ts";

const DEADLINE_MS = 20_000;
const WORDS = ["migrate", "worker", "look", "enqueue"] as const;
type Word = typeof WORDS[number];

/** The SQL of the document, for roles and a schema of the test's own: as an administrator, as the owner, after migrating. */
async function documented(roles: Readonly<Record<Word, TestRole>>, schema: string): Promise<string[]> {
  const text = await Deno.readTextFile(new URL("../../docs/security.md", import.meta.url));
  const section = text.split("### The rights that each program needs")[1]!.split("\n### ")[0]!;
  const blocks = [...section.matchAll(/```sql\n([\s\S]*?)```/g)].map(([, sql]) =>
    sql!
      .replace(/\bmillrace_(migrate|worker|look|enqueue)\b/g, (_, word: Word) => roles[word].name)
      .replace(/\bmillrace\b/g, schema)
  );
  assertEquals(blocks.length, 3);
  return blocks;
}

interface Programs extends AsyncDisposable {
  readonly roles: Readonly<Record<Word, TestRole>>;
  readonly schema: string;
  readonly receiver: Receiver;
  /** A program that logs in as a role. */
  program(word: Word): { readonly runtime: PostgresRuntime; readonly webhooks: Webhooks };
}

async function opened(): Promise<Programs> {
  const stack = new AsyncDisposableStack();
  const admin = connectPostgres(await testDatabaseUrl(), 2);
  stack.defer(() => admin.end({ timeout: 2 }));
  const schema = uniqueSchema();
  stack.defer(async () => void await admin.unsafe(`drop schema if exists ${schema} cascade`));
  const made = {} as Record<Word, TestRole>;
  for (const word of WORDS) made[word] = stack.use(await TestRole.make(admin, word));
  const [once, before, after] = await documented(made, schema);
  await admin.unsafe(once!);
  const runtimes: PostgresRuntime[] = [];
  const receiver = stack.use(new Receiver());
  const program = (word: Word) => {
    const webhooks = new Webhooks({
      secretKey: SECRET_KEY,
      egress: { allowHttp: true, allowAddresses: ["127.0.0.1"] },
      isolation: "none",
    });
    const runtime = createRuntime({
      url: made[word].url,
      schema,
      poolSize: 4,
      registrars: [webhooks.registrar, {
        kinds: [{
          name: "plain",
          queue: "default",
          maxAttempts: 3,
          timeout: 5000,
          handler: (args, ctx) => (ctx.progress(0.5), args),
        }, {
          name: "gathered",
          queue: "default",
          maxAttempts: 3,
          timeout: 5000,
          debounce: { by: ["id"], quietMs: 300, atMostMs: 10_000 },
          handler: (args) => args,
        }],
        periodics: [{ name: "tick", every: 60_000, handler: () => "ticked" }],
        eventTypes: [{
          type: "order.placed",
          description: "An order.",
          subject: "its id",
          exposure: "webhook",
        }],
        subscriptions: [{ name: "index", types: ["order.*"], handler: () => "indexed" }],
      }],
      queues: [{ name: "default", concurrency: 2 }, { name: "webhook", concurrency: 2 }],
      settings: { pollMs: 100 },
      log: silentLog,
    });
    runtimes.push(runtime);
    return { runtime, webhooks };
  };
  stack.defer(async () => void await Promise.all(runtimes.map((runtime) => runtime.stop())));
  await made.migrate.sql.unsafe(before!);
  await program("migrate").runtime.migrate();
  await made.migrate.sql.unsafe(after!);
  return { roles: made, schema, receiver, program, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

/** Calls that a role has no right to. */
async function assertDenied(
  calls: readonly (() => Promise<unknown> | PromiseLike<unknown>)[],
): Promise<void> {
  for (const call of calls) {
    const error = await assertRejects(async () => await call(), Error, undefined, call.toString());
    assert(/permission denied|must be owner/.test(String(error)), `${call}: ${error}`);
  }
}

Deno.test("with the documented rights each program does its work, and is denied the others'", async (test) => {
  await using site = await opened();
  const { roles, schema, receiver } = site;
  const worker = site.program("worker");
  const look = site.program("look");
  const enqueue = site.program("enqueue");
  const newTable = (word: Word) => () => roles[word].sql.unsafe(`create table ${schema}.new_table (n int)`);
  const alter = (word: Word) => () => roles[word].sql.unsafe(`alter table ${schema}.job add column n int`);
  const ids: string[] = [];
  let eventId = "";

  await test.step("worker: jobs, events, webhooks, periodics, and every operation", async () => {
    // An up-to-date schema can be "migrated" by the worker program.
    await worker.runtime.migrate();
    await worker.runtime.start();
    await worker.webhooks.of("tenant").create({ url: receiver.url, eventTypes: ["order.*"] });
    const id = await worker.runtime.enqueue("plain", { own: true });
    const done = await worker.runtime.wait(id, DEADLINE_MS);
    assert(done.done && done.state === "completed", JSON.stringify(done));
    const tick = await worker.runtime.wait(await worker.runtime.runPeriodic("tick"), DEADLINE_MS);
    assert(tick.done && tick.state === "completed", JSON.stringify(tick));
    await worker.runtime.pauseQueue("default");
    const waiting = await worker.runtime.enqueue("plain", {}, { uniqueByArgs: true });
    await worker.runtime.cancel(waiting);
    await worker.runtime.retry(waiting);
    await worker.runtime.resumeQueue("default");
    await worker.runtime.bringForward([waiting]);
    assert((await worker.runtime.wait(waiting, DEADLINE_MS)).done);
  });

  await test.step("worker: no change of the tables", async () => {
    await assertDenied([newTable("worker"), alter("worker")]);
  });

  await test.step("enqueue: jobs and events, by the runtime and by SQL, and a worker does them", async () => {
    const { runtime } = enqueue;
    const { sql } = roles.enqueue;
    ids.push(await runtime.enqueue("plain", { secret: "s" }));
    ids.push(await runtime.enqueue("plain", { once: 1 }, { uniqueByArgs: true }));
    assertEquals(await runtime.enqueue("plain", { once: 1 }, { uniqueByArgs: true }), ids[1]);
    ids.push(...await runtime.enqueueMany([1, 2, 3].map((n) => ({ kind: "plain", args: { n } }))));
    await sql.begin(async (tx) => {
      ids.push(await runtime.with(tx).enqueue("plain", { tx: true }));
      ids.push(await runtime.with(tx).enqueue("plain", { tx: 1 }, { uniqueByArgs: true }));
      eventId = await runtime.recorder.with(tx).record({
        type: "order.placed",
        subject: "order:1",
        ownerId: "tenant",
      });
      await runtime.recorder.with(tx).recordMany([{
        type: "order.placed",
        subject: "order:2",
        ownerId: "tenant",
      }]);
    });
    for (const unique of [false, true]) {
      const [row] = await sql.unsafe(
        `select ${schema}.enqueue('plain', '{"by": "sql"}', unique_by_args => ${unique})::text as id`,
      );
      ids.push(row!.id);
    }
    const gathered = await runtime.enqueue("gathered", { id: 1, n: 1 });
    assertEquals(await runtime.offer("gathered", { id: 1, n: 2 }), { id: gathered, added: false });
    const [again] = await sql.unsafe(`select ${schema}.enqueue('gathered', '{"id": 1, "n": 3}')::text as id`);
    assertEquals(again!.id, gathered);
    ids.push(gathered);
    for (const id of ids) {
      const result = await worker.runtime.wait(id, DEADLINE_MS);
      assert(result.done && result.state === "completed", `${id}: ${JSON.stringify(result)}`);
    }
    assert((await worker.runtime.events.awaitFanout(eventId, DEADLINE_MS)).fannedOut);
    await receiver.until(2);
  });

  await test.step("enqueue: nothing else, and nobody's args", async () => {
    const { runtime, webhooks } = enqueue;
    const { sql } = roles.enqueue;
    await assertDenied([
      () => runtime.start(),
      () => runtime.get(ids[0]!),
      () => runtime.list(),
      () => runtime.overview(),
      () => runtime.cancel(ids[0]!),
      () => runtime.retry(ids[0]!),
      () => runtime.pauseQueue("default"),
      () => runtime.runPeriodic("tick"),
      () => runtime.events.list(),
      () => runtime.events.get(eventId),
      () => runtime.events.requeue(eventId),
      () => runtime.events.drop(eventId),
      () => runtime.bringForward([ids[0]!]),
      () => webhooks.list({ ownerId: null }),
      () => webhooks.of("tenant").create({ url: receiver.url, eventTypes: ["order.*"] }),
      () => sql.unsafe(`select args from ${schema}.job`),
      () => sql.unsafe(`select * from ${schema}.job_history`),
      () => sql.unsafe(`select data from ${schema}.outbox`),
      () => sql.unsafe(`update ${schema}.job set args = '{}'`),
      () => sql.unsafe(`delete from ${schema}.job`),
      () => sql.unsafe(`delete from ${schema}.job_key`),
      () => sql.unsafe(`update ${schema}.job_key set job_id = 1`),
      () => sql.unsafe(`insert into ${schema}.kind (name, queue, max_attempts) values ('k', 'default', 1)`),
      () =>
        sql.unsafe(
          `create temp table own (n int);
          create trigger own after insert on own for each row execute function ${schema}.apply_rules()`,
        ),
      () => sql.unsafe(`insert into ${schema}.job (kind, state) values ('plain', 'running')`),
      () =>
        sql.unsafe(`insert into ${schema}.outbox (type, subject, fanned_out_at) values ('a', 'b', now())`),
      newTable("enqueue"),
      alter("enqueue"),
    ]);
  });

  await test.step("look: every reading operation", async () => {
    const { runtime, webhooks } = look;
    assertEquals((await runtime.get(ids[0]!))!.args, { secret: "s" });
    assert((await runtime.list()).length >= ids.length);
    assert((await runtime.overview()).bytes > 0);
    assertEquals((await runtime.periodic()).some(({ name }) => name === "tick"), true);
    assert((await runtime.wait(ids[0]!, 1000)).done);
    assertEquals((await runtime.events.get(eventId))!.ownerId, "tenant");
    assertEquals((await runtime.events.list()).length, 2);
    assertEquals((await runtime.events.backlog()).poisoned, 0);
    await runtime.events.alerts();
    const [endpoint] = await webhooks.of("tenant").list();
    assertEquals((await webhooks.deliveries({ endpointId: endpoint!.id })).length, 2);
  });

  await test.step("look: nothing is changed", async () => {
    const { runtime, webhooks } = look;
    const [endpoint] = await webhooks.list({ ownerId: null });
    const { sql } = roles.look;
    await assertDenied([
      () => runtime.start(),
      () => runtime.enqueue("plain", {}),
      () => runtime.enqueue("plain", {}, { uniqueByArgs: true }),
      () => sql.unsafe(`select ${schema}.enqueue('plain', '{}')`),
      () =>
        sql.unsafe(
          `select ${schema}.offer_keyed(
            null, 'plain', '', null, null, null, null, 'default', 2, 3, '{}', null, true)`,
        ),
      () => runtime.recorder.record({ type: "order.placed", subject: "order:3" }),
      () => runtime.retry(ids[0]!),
      () => runtime.events.requeue(eventId),
      () => runtime.events.drop(eventId),
      () => runtime.bringForward([ids[0]!]),
      () => runtime.pauseQueue("default"),
      () => runtime.runPeriodic("tick"),
      () => webhooks.skip("1"),
      () => webhooks.create({ ownerId: null, url: receiver.url, eventTypes: ["order.*"] }),
      () => webhooks.update(endpoint!.id, { enabled: false }),
      () => webhooks.rotateSecret(endpoint!.id),
      () => webhooks.sendTest(endpoint!.id),
      () => webhooks.replay(endpoint!.id, { since: new Date(0) }),
      () => webhooks.delete(endpoint!.id),
      newTable("look"),
      alter("look"),
    ]);
    const waiting = await worker.runtime.enqueue("plain", {}, { runAt: new Date(Date.now() + 3_600_000) });
    await assertDenied([() => runtime.cancel(waiting)]);
  });

  await test.step("migrate: captures", async () => {
    const { sql } = roles.migrate;
    await sql.unsafe(`create table ${schema}.orders (id int primary key, status text)`);
    const options = { table: "orders", tableSchema: schema, schema, key: ["id"], columns: ["status"] };
    await sql.unsafe(captureChanges({ ...options, type: "order.placed" }).up);
  });
});
