import { assert, assertEquals, assertRejects } from "@std/assert";
import postgres from "postgres";
import { startEmbedded } from "../../embedded/mod.ts";
import { createRuntime } from "../../mod.ts";
import { DatabaseUnavailableError } from "../../ports/errors.ts";
import type { RecordedEvent } from "../../ports/event.ts";
import { createLog, silentLog } from "../../shared/log.ts";
import { eventually } from "../conformance/eventually.ts";
import { SmallDisk } from "./support/small_disk.ts";

const MIB = 1024 * 1024;
/** More than fits into what is free in a table's last page. */
const TEXT = "x".repeat(2000);
const EVENTS = 60;

// To mount one takes root's rights.
const ignore = Deno.build.os !== "linux" || Deno.uid() !== 0;

/** A server with a tablespace `small` on a disk of its own. Null where none can be mounted: root in a container may not be allowed to. */
async function onSmallDisk(
  stack: AsyncDisposableStack,
): Promise<{ disk: SmallDisk; url: string; sql: postgres.Sql } | null> {
  const disk = await SmallDisk.mount(64 * MIB);
  if (typeof disk === "string") return null;
  stack.use(disk);
  const server = stack.use(await startEmbedded({ ephemeral: true }));
  const sql = postgres(server.url, { max: 1, onnotice: () => {} });
  stack.defer(() => sql.end());
  await disk.makeTablespace(server, sql);
  return { disk, url: server.url, sql };
}

Deno.test({
  name:
    "a full disk is an outage: callers are told so, no event is blamed, and all goes on when there is room",
  ignore,
  async fn() {
    await using stack = new AsyncDisposableStack();
    const place = await onSmallDisk(stack);
    if (place === null) return;
    const { disk, url, sql } = place;
    await sql`alter database postgres set default_tablespace = small`;
    const heard = new Set<string>();
    const said: string[] = [];
    const runtime = createRuntime({
      url,
      schema: "full",
      registrars: [{
        eventTypes: [{ type: "fact.told", description: "A fact. Data: { text }.", subject: "its number" }],
        subscriptions: [{
          name: "fact.log",
          types: ["fact.*"],
          handler: (args) => void heard.add((args as unknown as RecordedEvent).subject),
        }],
      }],
      queues: [{ name: "default", concurrency: 10 }],
      events: { backoffMs: 20, backoffMaxMs: 100 },
      log: createLog({ write: (line) => said.push(line) }),
    });
    stack.defer(() => runtime.stop());
    await runtime.migrate();
    await runtime.start();

    const client = postgres(url, { max: 1, onnotice: () => {}, fetch_types: false, prepare: false });
    stack.defer(() => client.end());
    await client.begin(async (tx) => {
      const recorder = runtime.recorder.with(tx);
      for (let n = 1; n <= EVENTS; n++) {
        await recorder.record({ type: "fact.told", subject: String(n), data: { text: TEXT } });
      }
      await disk.fill();
    });
    const count = (text: string) => said.filter((line) => line.includes(text)).length;
    const outbox = async () => await sql`select failures, poisoned_at, fanned_out_at from "full".outbox`;
    await eventually(() => count("events not fanned out") > 0, 20_000);
    const error = await assertRejects(
      () => runtime.enqueueMany(Array.from({ length: 20 }, () => ({ kind: "fact.log", args: { TEXT } }))),
      DatabaseUnavailableError,
    );
    assert(error.message.startsWith("The database's disk is full"), error.message);
    // Long enough for each event to be blamed as often as it takes to be set aside.
    await new Promise((resolve) => setTimeout(resolve, 1500));
    assert((await outbox()).some((row) => row.fanned_out_at === null), "there was room");
    await disk.free();
    await eventually(() => heard.size === EVENTS, 30_000);
    for (const { failures, poisoned_at: poisonedAt } of await outbox()) {
      assertEquals([failures, poisonedAt], [0, null]);
    }
    assertEquals(count("event poisoned"), 0);
  },
});

Deno.test({
  name: "while a full disk takes no ends, next to nothing begins that would run again after a death",
  ignore,
  async fn() {
    await using stack = new AsyncDisposableStack();
    const place = await onSmallDisk(stack);
    if (place === null) return;
    const { disk, url, sql } = place;

    let begun = 0;
    const runtime = createRuntime({
      url,
      schema: "full",
      registrars: [{
        kinds: [{
          name: "plain",
          queue: "default",
          maxAttempts: 3,
          timeout: 60_000,
          handler: () => void begun++,
        }],
      }],
      queues: [{ name: "default", concurrency: 10 }],
      settings: { pollMs: 100 },
      log: silentLog,
    });
    stack.defer(() => runtime.stop());
    await runtime.migrate();
    // Claims and starts find room in pages that are there, as they do for long. Only ends need new ones.
    await sql`alter table "full".job_history set tablespace small`;
    await runtime.start();
    await runtime.pauseQueue("default");
    const ids = await runtime.enqueueMany(Array.from({ length: 300 }, () => ({ kind: "plain", args: {} })));
    await disk.fill();
    await runtime.resumeQueue("default");
    await eventually(() => begun > 0, 20_000);
    await new Promise((resolve) => setTimeout(resolve, 1500));
    assert(begun < 150, `${begun} have begun`);
    await disk.free();
    for (const id of ids) {
      const end = await runtime.wait(id, 30_000);
      assertEquals(end.done && end.state, "completed");
    }
    assertEquals(begun, 300);
  },
});
