import { assertEquals, assertLessOrEqual } from "@std/assert";
import { DatabaseSetupError } from "../../../ports/errors.ts";
import type { Log } from "../../../ports/log.ts";
import { databaseUrl, freshSchema, until } from "../fixture_test.ts";
import { channelName } from "../sql/identifiers.ts";
import { readConnectionUrl } from "./connection_url.ts";
import { PostgresDatabase } from "./database.ts";
import { Listener } from "./listener.ts";
import { NotifyQueue } from "./notify_queue.ts";
import { DEFAULT_BOUNDS } from "./session.ts";

function recordingLog(): { readonly events: string[]; readonly log: Log } {
  const events: string[] = [];
  const record = (event: string) => void events.push(event);
  return { events, log: { debug: record, info: record, warn: record, error: record } };
}

async function withListening(
  body: (database: PostgresDatabase, events: string[]) => Promise<void>,
): Promise<void> {
  const { events, log } = recordingLog();
  const database = PostgresDatabase.connect({ url: databaseUrl(), schema: freshSchema(), log });
  try {
    await body(database, events);
  } finally {
    await database.close();
  }
}

Deno.test("messages arrive at every subscription of their channel and at no other", () =>
  withListening(async (database) => {
    const got: string[] = [];
    const observer = (name: string) => ({
      message: (text: string) => void got.push(`${name} ${text}`),
      ready() {},
    });
    const one = await database.listen("a", observer("one"));
    const two = await database.listen("a", observer("two"));
    const other = await database.listen("b", observer("other"));
    assertEquals([one.listening, two.listening, other.listening], [true, true, true]);
    await database.notify("a", "x");
    await database.notify("b", "y");
    await until("all arrive", () => got.length === 3);
    assertEquals(got.toSorted(), ["one x", "other y", "two x"]);
    await one.close();
    await database.notify("a", "z");
    await until("one more arrives", () => got.length === 4);
    assertEquals(got.at(-1), "two z");
  }));

Deno.test("a listener that lost its connection comes back, says so in a line, and tells everyone to look", () =>
  withListening(async (database, events) => {
    let ready = 0;
    const got: string[] = [];
    await database.listen("a", { message: (text) => void got.push(text), ready: () => void ready++ });
    assertEquals(ready, 1);
    for (let round = 1; round <= 3; round++) {
      await database.query(
        `select pg_terminate_backend(pid) from pg_stat_activity
        where query like 'listen %' and query like '%' || $1::text || '%' and pid <> pg_backend_pid()`,
        [channelName(database.schema, "a")],
      );
      await until("it listens again", () => ready === round + 1);
      await database.notify("a", String(round));
      await until("the message arrives", () => got.length === round);
    }
    assertEquals(events, Array(3).fill(["listening broke off", "listening again"]).flat());
  }));

Deno.test("where the database can't be reached listening begins later, and closing ends it", async () => {
  const { events, log } = recordingLog();
  const url = new URL(databaseUrl());
  url.port = "1";
  const database = PostgresDatabase.connect({ url: url.href, log });
  const subscription = await database.listen("a", { message() {}, ready() {} });
  assertEquals(subscription.listening, false);
  await database.close();
  assertEquals(events, ["listening broke off"]);
});

Deno.test("behind PgBouncer in transaction mode it finds out that nothing arrives, says so once, and polling is left", async (t) => {
  const program = await findPgBouncer();
  if (program === null) {
    await t.step({ name: "pgbouncer is missing: apt-get install pgbouncer", ignore: true, fn() {} });
    return;
  }
  const { events, log } = recordingLog();
  await using bouncer = await startPgBouncer(program);
  const database = PostgresDatabase.connect({ url: bouncer.url, preparedStatements: false, log });
  try {
    const begun = performance.now();
    const observer = { message() {}, ready() {} };
    const subscriptions = [await database.listen("a", observer), await database.listen("b", observer)];
    assertEquals(subscriptions.map(({ listening }) => listening), [false, false]);
    assertLessOrEqual(performance.now() - begun, 5000);
    assertEquals(events, ["listening is not possible"]);
    const answers = await Promise.all([1, 2, 3].map((n) => database.query("select $1::int as n", [n])));
    assertEquals(answers.map((rows) => rows[0]?.n), [1, 2, 3]);
  } finally {
    await database.close();
  }
});

Deno.test("a connection that is slow to be made does not make it give up", async () => {
  const { events, log } = recordingLog();
  const target = new URL(databaseUrl());
  const proxy = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const pipes = forward(proxy, target, (connection) => connection === 2 ? 2500 : 0);
  const url = new URL(target);
  url.hostname = "127.0.0.1";
  url.port = String((proxy.addr as Deno.NetAddr).port);
  const database = PostgresDatabase.connect({ url: url.href, log });
  try {
    const subscription = await database.listen("a", { message() {}, ready() {} });
    assertEquals([subscription.listening, events], [true, []]);
  } finally {
    await database.close();
    proxy.close();
    await pipes;
  }
});

Deno.test("a listener whose server takes no writes connects anew until it does, and tells everyone to look", async () => {
  const { events, log } = recordingLog();
  const database = PostgresDatabase.connect({ url: databaseUrl(), poolSize: 1 });
  const role = `r_${crypto.randomUUID().slice(0, 8)}`;
  await database.query(`create role ${role} login superuser password 'secret'`);
  await database.query(`alter role ${role} set default_transaction_read_only = on`);
  const url = new URL(databaseUrl());
  [url.username, url.password] = [role, "secret"];
  const listener = new Listener({
    notifyQueue: new NotifyQueue(),
    client: {
      address: readConnectionUrl(url.href),
      preparedStatements: true,
      connectTimeoutMs: 10_000,
      session: {},
      bounds: DEFAULT_BOUNDS,
    },
    log,
    checkEveryMs: 50,
    notify: async (channel, payload) => {
      await database.query("select pg_notify($1::text, $2::text)", [channel, payload]);
    },
  });
  const sessions = async () => {
    const rows = await database.query("select pid from pg_stat_activity where usename = $1::text", [role]);
    return rows.map(({ pid }) => Number(pid));
  };
  try {
    let ready = 0;
    await listener.subscribe(channelName(freshSchema(), "a"), { message() {}, ready: () => void ready++ });
    const [first] = await sessions();
    await until("it has another session", async () => !(await sessions()).includes(first!) && ready > 1);
    await database.query(`alter role ${role} reset default_transaction_read_only`);
    // The next session takes writes, so it stays.
    await until("it keeps its session", async () => {
      const [pid] = await sessions();
      await new Promise((resolve) => setTimeout(resolve, 300));
      return pid !== undefined && (await sessions()).includes(pid);
    });
    assertEquals(events, []);
  } finally {
    await listener.close();
    await until("the role can go", () => database.query(`drop role ${role}`).then(() => true, () => false));
    await database.close();
  }
});

Deno.test("after a message to itself that did not arrive it tries again, and says so once", async () => {
  const { events, log } = recordingLog();
  const database = PostgresDatabase.connect({ url: databaseUrl() });
  let sent = 0;
  const listener = new Listener({
    notifyQueue: new NotifyQueue(),
    client: {
      address: readConnectionUrl(databaseUrl()),
      preparedStatements: true,
      connectTimeoutMs: 10_000,
      session: {},
      bounds: DEFAULT_BOUNDS,
    },
    log,
    probeAgainMs: 50,
    notify: async (channel, payload) => {
      if (++sent > 2) await database.query("select pg_notify($1::text, $2::text)", [channel, payload]);
    },
  });
  try {
    let ready = 0;
    const channel = channelName(freshSchema(), "a");
    const subscription = await listener.subscribe(channel, { message() {}, ready: () => void ready++ });
    assertEquals(subscription.listening, false);
    await until("it listens", () => subscription.listening);
    assertEquals([sent, ready, events], [3, 1, ["listening is not possible", "listening again"]]);
  } finally {
    await listener.close();
    await database.close();
  }
});

/** Forwards connections, each after a delay of its own. Resolves when the listener and all of them have ended. */
async function forward(
  proxy: Deno.Listener,
  target: URL,
  delayMs: (connection: number) => number,
): Promise<void> {
  const pipes: Promise<unknown>[] = [];
  for await (const connection of proxy) {
    const delay = delayMs(pipes.length + 1);
    pipes.push((async () => {
      const server = await Deno.connect({ hostname: target.hostname, port: Number(target.port || 5432) });
      await new Promise((resolve) => setTimeout(resolve, delay));
      await Promise.allSettled([
        connection.readable.pipeTo(server.writable),
        server.readable.pipeTo(connection.writable),
      ]);
    })());
  }
  await Promise.all(pipes);
}

async function findPgBouncer(): Promise<string | null> {
  for (const path of ["/usr/sbin/pgbouncer", "/usr/bin/pgbouncer", "/usr/local/bin/pgbouncer"]) {
    if (await Deno.stat(path).then((file) => file.isFile, () => false)) return path;
  }
  return null;
}

async function startPgBouncer(program: string): Promise<AsyncDisposable & { readonly url: string }> {
  const target = new URL(databaseUrl());
  const folder = await Deno.makeTempDir({ prefix: "millrace_pgbouncer_" });
  const probe = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const port = (probe.addr as Deno.NetAddr).port;
  probe.close();
  const password = target.password === "" ? "" : ` password=${decodeURIComponent(target.password)}`;
  await Deno.writeTextFile(
    `${folder}/pgbouncer.ini`,
    `[databases]
* = host=${target.hostname} port=${target.port || 5432} user=${target.username}${password}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
auth_type = any
pool_mode = transaction
unix_socket_dir =
logfile = ${folder}/log
`,
  );
  await Deno.chmod(folder, 0o777);
  const asRoot = Deno.uid() === 0;
  const child = new Deno.Command(program, {
    args: [...(asRoot ? ["-u", "nobody"] : []), `${folder}/pgbouncer.ini`],
    stdout: "null",
    stderr: "null",
  }).spawn();
  await until(
    "PgBouncer accepts connections",
    () =>
      Deno.connect({ hostname: "127.0.0.1", port }).then(
        (connection) => (connection.close(), true),
        () => false,
      ),
  );
  return {
    url: `postgres://${target.username}@127.0.0.1:${port}${target.pathname}`,
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await child.status;
      await Deno.remove(folder, { recursive: true });
    },
  };
}

Deno.test("a refused message to itself is told once, with its reason", async () => {
  const lines: unknown[] = [];
  const record = (event: string, fields?: Readonly<Record<string, unknown>>) =>
    void lines.push([event, fields?.reason]);
  const database = PostgresDatabase.connect({ url: databaseUrl(), listen: "off" });
  let sent = 0;
  const listener = new Listener({
    client: {
      address: readConnectionUrl(databaseUrl()),
      preparedStatements: true,
      connectTimeoutMs: 10_000,
      session: {},
      bounds: DEFAULT_BOUNDS,
    },
    notifyQueue: new NotifyQueue(),
    log: { debug: record, info: record, warn: record, error: record },
    notify: async (channel, payload) => {
      // As for a role that may not call pg_notify().
      if (++sent < 3) throw new DatabaseSetupError("42501", "permission denied for function pg_notify");
      await database.query("select pg_notify($1::text, $2::text)", [channel, payload]);
    },
  });
  try {
    await listener.subscribe(channelName(freshSchema(), "a"), { message() {}, ready() {} });
    assertEquals(lines, [["listening is not possible", "permission denied for function pg_notify"]]);
    await until("it listens", () => listener.listening);
    assertEquals(lines.slice(1), [["listening again", undefined]]);
  } finally {
    await listener.close();
    await database.close();
  }
  assertEquals(lines.length, 2);
});
