import { cronerSchedule } from "../../adapters/croner/schedule.ts";
import { createPostgresStore } from "../../adapters/postgres/postgres_store.ts";
import type { RecordingRuntime } from "../../assembly/common.ts";
import { compose } from "../../composing/compose.ts";
import { WebhookVerifier } from "../../events/signing/verify.ts";
import {
  captureChanges,
  createLog,
  createMemoryRuntime,
  type CreateMemoryRuntimeOptions,
  createRuntime,
  DefaultBackoff,
  defineApp,
  defineKind,
  deliverTwice,
  discard,
  handlerOf,
  type Kind,
  type Registrar,
  silentLog,
  snooze,
  typedJobs,
} from "../../mod.ts";
import { checkArgs } from "../../ports/args_schema.ts";
import { errorText } from "../../ports/error_text.ts";
import { isDiscard, isSnooze } from "../../ports/handler.ts";
import { matchesGlob } from "../../shared/event_glob.ts";
import { parseJsonText, toJsonText } from "../../shared/json_text.ts";
import { guardLog } from "../../shared/log.ts";
import { createTestBench } from "../../testing/mod.ts";
import { Webhooks } from "../../webhooks/mod.ts";
import { createExecutor } from "../../workers/executor.ts";

/** A call of what the package exports, with something hostile in one place. */
// deno-lint-ignore no-explicit-any -- whatever a program without types would hand over
export type HostileCall = (value: any) => unknown;

const URL_ = "postgres://user:secret@localhost:1/none";

const schema = {
  "~standard": { version: 1 as const, vendor: "none", validate: (value: unknown) => ({ value }) },
};

const kind: Kind = { name: "k", queue: "default", maxAttempts: 1, timeout: 1000, handler: () => {} };
const periodic = { name: "p", every: 1000, handler: () => {} };
const eventType = { type: "a.b", description: "as it is", subject: "nothing", exposure: "webhook" } as const;
const subscription = { name: "s", types: ["a.*"], handler: () => {} };
const capture = { table: "t", key: ["id"], columns: ["c"], type: "a.b" };

/** Calls with the whole, and with each member of an object in its place. */
function members(
  call: HostileCall,
  good: Record<string, unknown>,
  more: readonly string[] = [],
): HostileCall[] {
  return [
    call,
    ...[...Object.keys(good), ...more].map((key): HostileCall => (value) => call({ ...good, [key]: value })),
  ];
}

const building = (options: Record<string, unknown>): HostileCall[] =>
  members((given) => createMemoryRuntime(given), { ...options, log: silentLog }, [
    ...["queues", "work", "settings", "events", "executor", "onThreadLost", "store"],
  ]);

const registrar = (key: string, good: Record<string, unknown>, more: readonly string[]): HostileCall[] => {
  const declared: HostileCall = (value) =>
    createMemoryRuntime({ registrars: [{ eventTypes: [eventType], [key]: value }], log: silentLog });
  return [
    declared,
    ...members((value) => declared([value]), good, more),
    (value) => declared([value, value]),
  ];
};

const confined = ["isolation", "permissions", "memory", "ownThread", "backoff"];

/** Of everything that builds or declares something, or reads a value. */
export const STATIC_CALLS: readonly HostileCall[] = [
  ...building({ registrars: [] }),
  ...members((given) => createRuntime(given), { url: URL_, registrars: [], log: silentLog }, [
    ...[
      "schema",
      "poolSize",
      "acquireTimeoutMs",
      "connectTimeoutMs",
      "preparedStatements",
      "session",
      "listen",
    ],
    ...["queues", "work", "settings", "events", "executor"],
  ]),
  ...members((given) => createPostgresStore(given), { url: URL_ }, ["schema", "poolSize", "log"]),
  ...members((given) => createExecutor(given), { log: silentLog }, [
    "threads",
    "graceMs",
    "output",
    "completion",
  ]),
  (value) => createMemoryRuntime({ registrars: [value], log: silentLog }),
  (value) => createMemoryRuntime({ registrars: [() => value], log: silentLog }),
  (value) => createMemoryRuntime({ registrars: [value, value], log: silentLog }),
  ...["pollMs", "lostAfterMs", "toString", "pollMS"].map((key): HostileCall => (value) =>
    createMemoryRuntime(
      { registrars: [], settings: { [key]: value }, log: silentLog } as CreateMemoryRuntimeOptions,
    )
  ),
  ...["sweepMs", "hasOwnProperty"].map((key): HostileCall => (value) =>
    createMemoryRuntime(
      { registrars: [], events: { [key]: value }, log: silentLog } as CreateMemoryRuntimeOptions,
    )
  ),
  ...registrar("kinds", { ...kind }, ["args", "discardAlert", ...confined]),
  ...registrar("periodics", periodic, [
    ...["cron", "timezone", "runAtStart", "queue", "priority", "maxAttempts", "timeout", "discardAlert"],
    ...["kind", "args", ...confined],
  ]),
  ...members(
    (value) => createMemoryRuntime({ registrars: [{ kinds: [kind], periodics: [value] }], log: silentLog }),
    { name: "p", every: 1000, kind: "k", args: {} },
    ["handler", "queue", "priority"],
  ),
  ...registrar("periodics", { name: "p", cron: "* * * * *", timezone: "UTC", handler: () => {} }, []),
  ...registrar("subscriptions", subscription, [
    "exposure",
    "coalesce",
    "data",
    "priority",
    "queue",
    ...confined,
  ]),
  ...members(
    (value) => createMemoryRuntime({ registrars: [{ eventTypes: [value] }], log: silentLog }),
    eventType,
    ["exposure"],
  ),
  ...members(
    (value) => createMemoryRuntime({ registrars: [], queues: [value, value], log: silentLog }),
    { name: "q", concurrency: 1 },
  ),
  ...["keepEvents", "services", "migrations", "kindz"].map((key): HostileCall => (value) =>
    createMemoryRuntime({ registrars: [{ [key]: value }], log: silentLog })
  ),
  ...members((value) => createMemoryRuntime({ registrars: [{ migrations: [value] }], log: silentLog }), {
    part: "mine",
    steps: [],
  }),
  (value) => compose(value, cronerSchedule),
  ...members((value) => defineApp(value), { registrars: [], queues: {} }),
  (value) => defineApp({ registrars: [], queues: { q: value } }),
  ...members((value) => defineKind(value), { ...kind, args: schema }),
  ...members((value) => handlerOf(value, () => {}), { name: "k", args: schema }),
  (value) => handlerOf({ name: "k", args: schema }, value),
  (value) => checkArgs("k", { "~standard": { ...schema["~standard"], validate: () => value } }, {}),
  ...members((value) => captureChanges(value), capture, [
    "tableSchema",
    "subject",
    "data",
    "owner",
    "schema",
  ]),
  ...members((value) => createLog(value), { write: () => {}, level: "info" }),
  (value) => guardLog(value).info("x"),
  (value) => guardLog(createLog({ write: () => {} })).info("x", { value }),
  (value) => DefaultBackoff(value),
  (value) => matchesGlob(value, "a.b"),
  (value) => matchesGlob("a.*", value),
  (value) => snooze(value),
  (value) => discard(value),
  (value) => isSnooze(value),
  (value) => isDiscard(value),
  (value) => errorText(value),
  (value) => parseJsonText(value, "args"),
  (value) => toJsonText(value, { name: "args", maxBytes: 100 }),
  ...members((value) => createTestBench(value), { registrars: [] }, ["queues", "now", "log"]),
  (value) => new WebhookVerifier(value),
  ...members((value) => new WebhookVerifier(`whsec_${"Mill".repeat(10)}`, value), {}, [
    "toleranceS",
    "maxBytes",
    "now",
  ]),
  ...members((value) => new Webhooks(value), {}, ["secretKey", "egress", "queue", "settings"]),
  ...members((value) => new Webhooks({ egress: value }), {}, [
    ...["allowHttp", "allowPorts", "allowAddresses", "resolve"],
  ]),
  (value) => new Webhooks({ egress: { allowAddresses: [value] } }),
  ...members((value) => new Webhooks({ settings: value }), {}, ["scheduleMs", "maxAttempts", "requestMs"]),
  (value) => new Webhooks({ settings: { scheduleMs: [value] } }),
];

/** Of a runtime that has a kind `k` and an event type `a.b`. */
export function runtimeCalls(runtime: RecordingRuntime, tx: unknown): readonly HostileCall[] {
  // deno-lint-ignore no-explicit-any -- as above
  const jobs: any = runtime;
  const inTx = () => jobs.with(tx);
  // deno-lint-ignore no-explicit-any -- as above
  const typed = (): any => typedJobs(runtime, [defineKind({ ...kind, handler: () => {}, args: schema })]);
  const options = ["runAt", "uniqueByArgs", "queue", "priority", "prioritty"];
  return [
    ...[() => jobs, inTx].flatMap((of): HostileCall[] => [
      (value) => of().enqueue(value),
      (value) => of().enqueue("k", value),
      (value) => of().enqueue("k", { at: [value] }),
      (value) => of().enqueue("k", {}, value),
      ...options.map((key): HostileCall => (value) => of().enqueue("k", {}, { [key]: value })),
      (value) => of().enqueueMany(value),
      ...members((value) => of().enqueueMany([value]), { kind: "k" }, ["args", ...options]),
      (value) => of().cancel(value),
      (value) => of().with(value),
    ]),
    (value) => jobs.get(value),
    (value) => jobs.retry(value),
    (value) => jobs.wait(value, 0),
    (value) => jobs.wait("1", typeof value === "number" && value > 10 ? 1 : value),
    (value) => jobs.overview(value),
    ...members((value) => jobs.list(value), {}, ["kind", "queue", "state", "args", "before", "limit", "knd"]),
    (value) => jobs.pauseQueue(value),
    (value) => jobs.resumeQueue(value),
    (value) => jobs.runPeriodic(value),
    (value) => jobs.pausePeriodic(value),
    (value) => jobs.resumePeriodic(value),
    (value) => runtime.recorder.record(value),
    ...["subject", "ownerId", "data", "owner"].map((key): HostileCall => (value) =>
      runtime.recorder.record({ type: "a.b", subject: "s", [key]: value })
    ),
    (value) => runtime.recorder.record({ type: value, subject: "s" }),
    (value) => runtime.recorder.recordMany(value),
    (value) => runtime.recorder.recordMany([value]),
    (value) => runtime.recorder.with(value),
    (value) => typedJobs(runtime, value),
    (value) => typedJobs(runtime, [value]),
    (value) => typed().enqueue(value, {}),
    (value) => typed().enqueue("k", {}, value),
    (value) => typed().enqueueMany(value),
    (value) => typed().enqueueMany([value]),
    (value) => deliverTwice(runtime, value, { maxMs: 1 }),
  ];
}

/** What those calls are made on. */
export const HOSTILE_REGISTRARS: readonly Registrar[] = [{ kinds: [kind], eventTypes: [eventType] }];

/** Of webhooks that have an endpoint. */
export function webhookCalls(webhooks: Webhooks, endpointId: string): readonly HostileCall[] {
  const draft = { url: "https://203.0.114.1/", eventTypes: ["a.*"], ownerId: null };
  const more = ["description", "signature", "ordered", "owner"];
  return [
    (value) => webhooks.list(value),
    (value) => webhooks.list({ ownerId: value }),
    (value) => webhooks.of(value),
    (value) => webhooks.of("a").get(value),
    (value) => webhooks.of("a").create(value),
    (value) => webhooks.get(value),
    ...members((value) => webhooks.create(value), draft, more),
    (value) => webhooks.create({ ...draft, eventTypes: [value] }),
    (value) => webhooks.update(value, {}),
    ...members((value) => webhooks.update(endpointId, value), {}, [...Object.keys(draft), ...more]),
    (value) => webhooks.delete(value),
    (value) => webhooks.rotateSecret(value),
    ...members((value) => webhooks.rotateSecret(endpointId, value), {}, [
      "overlapMs",
      "signature",
      "overlap",
    ]),
    (value) => webhooks.sendTest(value),
    ...members((value) => webhooks.deliveries(value), { endpointId }, ["state", "before", "limit", "stat"]),
    (value) => webhooks.redeliver(value),
    (value) => webhooks.skip(value),
    (value) => webhooks.redeliver(endpointId, value),
    (value) => webhooks.replay(value, { since: new Date(0) }),
    ...members((value) => webhooks.replay(endpointId, value), { since: new Date(0) }, [
      "until",
      "limit",
      "unti",
    ]),
  ];
}
