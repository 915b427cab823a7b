import { assert, assertEquals, assertRejects } from "@std/assert";
import postgres from "postgres";
import { startEmbedded } from "../../embedded/mod.ts";
import { createRuntime } from "../../mod.ts";
import { createLog, DatabaseUnavailableError, type RecordedEvent } from "../../ports/mod.ts";
import { eventually } from "../conformance/eventually.ts";
import { SmallDisk } from "./support/small_disk.ts";

const MIB = 1024 * 1024;
/** More than fits into what is free in a table's last page. */
const TEXT = "x".repeat(2000);
const EVENTS = 60;

Deno.test({
  name:
    "a full disk is an outage: callers are told so, no event is blamed, and all goes on when there is room",
  // To mount one takes root's rights.
  ignore: Deno.build.os !== "linux" || Deno.uid() !== 0,
  async fn() {
    const mounted = await SmallDisk.mount(64 * MIB);
    // Root in a container may not be allowed to.
    if (typeof mounted === "string") return;
    await using disk = mounted;
    await using server = await startEmbedded({ ephemeral: true });
    await using stack = new AsyncDisposableStack();
    const sql = postgres(server.url, { max: 1, onnotice: () => {} });
    stack.defer(() => sql.end());
    await disk.takeTables(server, sql);

    const heard = new Set<string>();
    const said: string[] = [];
    const runtime = createRuntime({
      url: server.url,
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

    const client = postgres(server.url, { max: 1, onnotice: () => {}, fetch_types: false, prepare: false });
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
