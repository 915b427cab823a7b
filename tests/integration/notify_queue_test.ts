import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { readConnectionUrl } from "../../adapters/postgres/connection/connection_url.ts";
import { PostgresDatabase } from "../../adapters/postgres/connection/database.ts";
import { Listener } from "../../adapters/postgres/connection/listener.ts";
import { NotifyQueue } from "../../adapters/postgres/connection/notify_queue.ts";
import { DEFAULT_BOUNDS } from "../../adapters/postgres/connection/session.ts";
import { startEmbedded } from "../../embedded/mod.ts";
import { createRuntime } from "../../mod.ts";
import { DatabaseUnavailableError, sqlStateOf } from "../../ports/errors.ts";
import { createLog } from "../../shared/log.ts";
import { eventually } from "../conformance/eventually.ts";
import { connectPostgres } from "./support/connect.ts";

Deno.test("a full queue of notifications: jobs are enqueued all the same, and it empties as soon as it can", async () => {
  await using stack = new AsyncDisposableStack();
  const server = stack.use(
    await startEmbedded({ ephemeral: true, settings: { max_notify_queue_pages: "64" } }),
  );
  const { url } = server;
  const sql = connectPostgres(url, 2);
  stack.defer(() => sql.end());
  const runtime = createRuntime({
    url,
    registrars: [{
      kinds: [{ name: "plain", queue: "default", maxAttempts: 1, timeout: 5000, handler: () => {} }],
    }],
    queues: [{ name: "default", concurrency: 2 }],
  });
  stack.defer(() => runtime.stop());
  await runtime.migrate();
  await runtime.start();

  const holdUp = async () => {
    const lazy = connectPostgres(url, 1);
    await lazy`listen other`;
    await lazy`begin`;
    await lazy`select 1`;
    for (let length = 7000; length > 1; length = length >> 1) {
      const fill = () =>
        sql`select pg_notify('other', ${"x".repeat(length)} || g) from generate_series(1, 3) as g`;
      while (await fill().then(() => true, () => false));
    }
    return lazy;
  };
  const lazy = await holdUp();
  const inTransaction = () => sql.begin((tx) => runtime.with(tx).enqueue("plain"));
  // From when on somebody is woken.
  const refused = await eventually(() => inTransaction().then(() => undefined, (error: unknown) => error));
  assertEquals(sqlStateOf(refused), "54000");
  const error = await assertRejects(() => runtime.database.notify("own", ""), DatabaseUnavailableError);
  assertMatch(error.message, /queue of notifications is full.*rolled back.*SQLSTATE 54000.*end the session/);
  const recording = () =>
    runtime.database.transaction(async (tx) => await tx.unsafe("select pg_notify('own', '')", []));
  await assertRejects(recording, DatabaseUnavailableError, "queue of notifications");

  // Enqueues by themselves do without, and, now that it is known, those in transactions too.
  const ids = [
    await runtime.enqueue("plain"),
    await runtime.enqueue("plain", { n: 1 }, { uniqueByArgs: true }),
    await inTransaction(),
    await sql.begin((tx) => runtime.with(tx).enqueue("plain", { n: 2 }, { uniqueByArgs: true })),
  ];
  // Work goes on meanwhile.
  await eventually(async () => {
    const ended = await Promise.all(ids.map((id) => runtime.get(id)));
    return ended.every((job) => job?.state === "completed");
  });
  await lazy.end({ timeout: 1 });
  // The first statement that is refused empties it, and is sent once more.
  await assertRejects(async () => await sql`select pg_notify('other', ${"x".repeat(7000)})`);
  await runtime.database.notify("own", "");
  await sql`select pg_notify('other', '')`;

  // A listener that has nothing to say does so too.
  const lines: Record<string, unknown>[] = [];
  const log = createLog({ level: "warn", write: (line) => lines.push(JSON.parse(line)) });
  const database = PostgresDatabase.connect({ url, listen: "off" });
  stack.defer(() => database.close());
  const notifyQueue = new NotifyQueue();
  const listener = new Listener({
    client: {
      address: readConnectionUrl(url),
      preparedStatements: true,
      connectTimeoutMs: 5000,
      session: {},
      bounds: DEFAULT_BOUNDS,
    },
    notifyQueue,
    log,
    checkEveryMs: 50,
    notify: async (channel, payload) => {
      await database.query("select pg_notify($1::text, $2::text)", [channel, payload]);
    },
  });
  stack.defer(() => listener.close());
  await listener.subscribe("own", { message() {}, ready() {} });
  const again = await holdUp();
  await eventually(() => Promise.resolve(notifyQueue.isFull));
  await again.end({ timeout: 1 });
  await eventually(() => sql`select pg_notify('other', '')`.then(() => true, () => false));
  await eventually(() => Promise.resolve(!notifyQueue.isFull));
  const told = lines.filter(({ event }) => event === "the server's queue of notifications fills up");
  assert(told.length === 1 && (told[0]!.usage as number) >= 0.5);
});
