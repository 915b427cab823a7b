import { assert } from "@std/assert";
import { createMemoryStore } from "../../adapters/memory/memory_store.ts";
import * as webhookExports from "../../webhooks/mod.ts";
import { SecretKeyError } from "../../webhooks/endpoints/key_ring.ts";
import * as millrace from "../../mod.ts";
import { errorText } from "../../ports/error_text.ts";
import * as errors from "../../ports/errors.ts";
import { databaseUrl } from "../harness/database_url.ts";
import {
  HOSTILE_REGISTRARS,
  type HostileCall,
  runtimeCalls,
  STATIC_CALLS,
  webhookCalls,
} from "./hostile_calls.ts";
import { DRAWN, HOSTILE_VALUES } from "./hostile_values.ts";
import { thrownBy } from "./hostile.ts";

const CLASSES = [
  ...Object.entries({ ...errors, ...millrace, ...webhookExports }).filter(([name]) => name.endsWith("Error"))
    .map((
      [, value],
    ) => value),
  SecretKeyError,
] as (typeof Error)[];

const NATIVE = /^Cannot (?:read|convert|destructure|set|perform|mix) /;

/** Makes each call with each value: it works, or is refused by an error that says what was wrong and what was expected. */
async function allWorkOrAreClear(calls: readonly HostileCall[]): Promise<void> {
  const unclear: string[] = [];
  for (const call of calls) {
    for (const make of HOSTILE_VALUES) {
      const error = await thrownBy(() => call(make()));
      const fault = error === undefined ? null : faultOf(error);
      if (fault !== null) unclear.push(`${call} with ${make}: ${fault}`);
      assert(!("polluted" in {}), `${call} with ${make} polluted a prototype`);
    }
  }
  assert(unclear.length === 0, `${unclear.length} unclear errors:\n${unclear.slice(0, 5).join("\n")}`);
}

/** What is unclear of an error; null when nothing is. */
function faultOf(error: unknown): string | null {
  if (!(error instanceof Error)) return `threw ${errorText(error)}`;
  // What a getter of the caller's throws is told as it is.
  if (error.message === DRAWN) return null;
  const isOwn = CLASSES.some((each) => error instanceof each);
  const saysAll = /^Cannot .+: /s.test(error.message) && !NATIVE.test(error.message);
  if (!isOwn && !saysAll) return `threw ${error.stack}`;
  if (error.message.length > 5000) return `its message has ${error.message.length} characters`;
  return error.message.includes("secret@") ? "its message tells the password" : null;
}

Deno.test("whatever is handed to what builds, declares or reads something, it works or the error is clear", async () => {
  await allWorkOrAreClear(STATIC_CALLS);
});

Deno.test("whatever is handed to a runtime in memory, it works or the error is clear", async () => {
  const store = createMemoryStore();
  const options = { store, registrars: HOSTILE_REGISTRARS, log: millrace.silentLog };
  await using runtime = millrace.createMemoryRuntime(options);
  const tx = store.begin();
  await allWorkOrAreClear(runtimeCalls(runtime, tx));
  await tx.rollback();
});

Deno.test("whatever is handed to a runtime on PostgreSQL, it works or the error is clear", async () => {
  const schema = `hostile_${crypto.randomUUID().slice(0, 8)}`;
  const webhooks = new webhookExports.Webhooks({ secretKey: new Uint8Array(32).fill(7).toBase64() });
  await using runtime = millrace.createRuntime({
    url: databaseUrl(),
    schema,
    registrars: [...HOSTILE_REGISTRARS, webhooks.registrar],
    queues: [{ name: "default", concurrency: 1 }, { name: "webhook", concurrency: 1 }],
    log: millrace.silentLog,
  });
  await runtime.migrate();
  try {
    // A call that fails in the database would fail all that come after it in the transaction, which must not be.
    await runtime.database.transaction((tx) => allWorkOrAreClear(runtimeCalls(runtime, tx)));
    await allWorkOrAreClear([
      (value) => runtime.events.list(value),
      ...["type", "subject", "ownerId", "state", "before", "limit"].map((key): HostileCall => (value) =>
        runtime.events.list({ [key]: value })
      ),
      (value) => runtime.events.get(value),
      (value) => runtime.events.requeue(value),
      (value) => runtime.events.drop(value),
      (value) => runtime.events.latestFor(value),
      (value) => runtime.events.awaitFanout(value, 0),
      (value) =>
        runtime.events.awaitFanout(crypto.randomUUID(), typeof value === "number" && value > 9 ? 0 : value),
    ]);
    const { endpoint } = await webhooks.create({
      ownerId: null,
      url: "https://203.0.114.1/",
      eventTypes: ["a.*"],
    });
    await allWorkOrAreClear(webhookCalls(webhooks, endpoint.id));
  } finally {
    await runtime.database.query("drop schema {schema} cascade");
  }
});
