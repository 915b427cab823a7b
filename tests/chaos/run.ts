import postgres from "postgres";
import { startEmbedded } from "../../embedded/mod.ts";
import { createRuntime } from "../../mod.ts";
import { silentLog } from "../../ports/mod.ts";
import { eventually, pause } from "../conformance/eventually.ts";
import { TcpProxy } from "../integration/support/tcp_proxy.ts";
import { residentBytes } from "../programs/program.ts";
import type { Violation } from "./check/evidence.ts";
import { check } from "./check/mod.ts";
import type { History } from "./check/history.ts";
import {
  ENDPOINTS,
  EVENT_SETTINGS,
  EVENT_TYPES,
  EXPOSED,
  makeWebhooks,
  SUBSCRIBERS,
  SUBSCRIPTIONS,
} from "./events.ts";
import { Injector } from "./faults.ts";
import { Member } from "./fleet.ts";
import { Loop } from "./loop.ts";
import { JournalWriter, readJournal } from "./journal.ts";
import { KINDS, PERIODICS, PERIODS, QUEUES, SETTINGS } from "./kinds.ts";
import { Person } from "./person.ts";
import { Producer } from "./producers.ts";
import { Random } from "./random.ts";
import { Receiver } from "./receiver.ts";
import { EventRecorder } from "./recorders.ts";
import { Tables } from "./tables.ts";

const MEMBERS = 3;
const PRODUCERS = 3;
const RECORDERS = 2;
const SCHEMA = "chaos";
const START_MS_MAX = 180_000;
const SAMPLE_MS = 1500;
/** All is done within so long of the last fault, in ms; where more processes than cores want to run, that much later. */
const RECOVERY_MS_MAX = 60_000;
/** So long after the last fault the receiver still fails at random, in ms: much is only delivered then. */
const RECEIVER_FAILS_MS = 15_000;
/** So long a run waits before it says that jobs are stuck, in ms. */
const DRAIN_MS_MAX = 240_000;
/** The pool of each worker program. */
const POOL = 8;
const MEMORY_MAX = 600 * 1024 * 1024;
const HOUR_MS = 3_600_000;

/** What a run is told. */
export interface RunOptions {
  /** Determines faults and work. */
  readonly seed: number;
  /** For how long faults are made, in ms. */
  readonly ms: number;
  /** Where the journal and the programs' output are left. */
  readonly folder: string;
  /** Told of what happens. */
  readonly say: (line: string) => void;
}

/** What became of a run. */
export interface RunResult {
  /** Every rule that was broken, with the job's history. */
  readonly violations: readonly (Violation & { readonly history: readonly string[] })[];
  /** How often each fault was made. */
  readonly faults: ReadonlyMap<string, number>;
  /** How many jobs were checked. */
  readonly jobs: number;
  /** How many events were checked. */
  readonly events: number;
  /** How many deliveries were checked. */
  readonly deliveries: number;
  /** How many requests the receiver got. */
  readonly receipts: number;
  /** How many handlers were started. */
  readonly executions: number;
  /** How many of these began while another run of the same job still went on, each accounted for. */
  readonly duplicates: number;
  /** How long it took from the last fault until every job had ended, in ms. */
  readonly recoveryMs: number;
}

/** Makes one run: work and faults, then calm, then the proof. */
export async function run({ seed, ms, folder, say }: RunOptions): Promise<RunResult> {
  const random = new Random(seed);
  const journalPath = `${folder}/journal.jsonl`;
  await using stack = new AsyncDisposableStack();
  const journal = stack.use(new JournalWriter(journalPath));
  const server = stack.use(
    await startEmbedded({ ephemeral: true, settings: { max_connections: "200", fsync: "on" } }),
  );
  const proxy = stack.use(new TcpProxy(server.url));
  const sql = postgres(server.url, { max: 2, onnotice: () => {}, fetch_types: false, prepare: false });
  stack.defer(() => sql.end({ timeout: 2 }));
  const webhooks = makeWebhooks();
  const runtime = createRuntime({
    url: proxy.url,
    schema: SCHEMA,
    registrars: [
      { kinds: KINDS, periodics: PERIODICS },
      { eventTypes: EVENT_TYPES, subscriptions: SUBSCRIPTIONS },
      webhooks.registrar,
    ],
    queues: QUEUES,
    settings: SETTINGS,
    events: EVENT_SETTINGS,
    poolSize: POOL,
    log: silentLog,
  });
  stack.defer(() => runtime.stop());
  await runtime.migrate();
  const tables = new Tables(sql, SCHEMA);
  await tables.create();
  const site = { url: server.url, schema: SCHEMA, journal: journalPath, folder };
  const members = Array.from({ length: MEMBERS }, (_, n) => {
    // One of them thinks that it is an hour later.
    const env = n === 0 ? { CLOCK_SHIFT_MS: String(HOUR_MS) } : {};
    return stack.use(new Member(site, `worker-${n + 1}`, journal, { env }));
  });
  for (const member of members) member.start();
  await eventually(() => members.every(({ started }) => started > 0), START_MS_MAX);

  const shop = { runtime, url: proxy.url, schema: SCHEMA, journal };
  const producers = Array.from(
    { length: PRODUCERS },
    (_, n) => new Producer(shop, random.fork(), `producer ${n + 1}`),
  );
  const person = new Person(shop, random.fork());
  const injectorsRandom = random.fork();
  const receiver = stack.use(new Receiver(journal, random.fork()));
  await receiver.start();
  for (const { name, ...draft } of ENDPOINTS) {
    const { secret } = await webhooks.create({
      ...draft,
      url: receiver.url(name),
      eventTypes: ["fact.*"],
      description: name,
    });
    receiver.expect(name, secret);
  }
  const recorders = Array.from(
    { length: RECORDERS },
    (_, n) => new EventRecorder(shop, random.fork(), `recorder ${n + 1}`),
  );
  const injector = new Injector(
    { members, server, proxy, receiver, sql, schema: SCHEMA, journal },
    injectorsRandom,
  );
  const sampler = new Sampler(tables);
  for (const part of [...producers, ...recorders, person, injector, sampler]) part.start();
  await pause(ms);
  await injector.stop();
  const calmAt = performance.now();
  journal.write({ what: "fault", name: "no more faults" });
  await Promise.all([...producers, ...recorders, person].map((part) => part.stop()));
  const recovering = pause(RECEIVER_FAILS_MS).then(() => receiver.recover());
  const left = await drain(tables, say);
  const recoveryMs = Math.round(performance.now() - calmAt);
  await recovering;
  const after = await aftermath(members, tables, recoveryMs, left);
  const [jobs, effects, orders] = [await tables.jobs(), await tables.effects(), await tables.orders()];
  await sampler.stop();
  const lines = await readJournal(journalPath);
  const { violations, history } = check({
    ...{ lines, jobs, effects, orders, periods: PERIODS, lostAfterMs: SETTINGS.lostAfterMs! },
    sharedKeys: sampler.found,
    events: await tables.events(),
    facts: await tables.facts(),
    deliveries: await tables.deliveries(),
    subscribers: SUBSCRIBERS,
    endpoints: ENDPOINTS,
    exposed: EXPOSED,
  });
  return {
    violations: [...violations, ...after].map((each) => ({
      ...each,
      history: historyOf(history, each),
    })),
    faults: injector.counts,
    jobs: jobs.length,
    events: history.events.size,
    deliveries: history.evidence.deliveries.length,
    receipts: lines.filter(({ what }) => what === "received").length,
    executions: history.byName.size,
    duplicates: history.duplicates(),
    recoveryMs,
  };
}

function historyOf(history: History, { job, event }: Violation): string[] {
  return [
    ...(job === undefined ? [] : [JSON.stringify(history.jobs.get(job) ?? "no row"), ...history.tell(job)]),
    ...(event === undefined
      ? []
      : [JSON.stringify(history.events.get(event) ?? "no row"), ...history.tellEvent(event)]),
  ];
}

/** Waits until nothing is left but what the periodics will always bring. Resolves to how many jobs are stuck. */
async function drain(tables: Tables, say: (line: string) => void): Promise<number> {
  const deadline = performance.now() + DRAIN_MS_MAX;
  for (;;) {
    const left = await tables.left();
    if (left === 0) return 0;
    if (performance.now() > deadline) {
      say(`${left} jobs have not ended`);
      return left;
    }
    await pause(200);
  }
}

/** Recovered in time, no more connections and memory than at the start, and an end in order that leaves nothing. */
async function aftermath(
  members: readonly Member[],
  tables: Tables,
  recoveryMs: number,
  left: number,
): Promise<Violation[]> {
  const found: Violation[] = [];
  const share = Math.max(1, Deno.loadavg()[0]! / navigator.hardwareConcurrency);
  if (left > 0 || recoveryMs > RECOVERY_MS_MAX * share) {
    found.push({ rule: "recovery", text: `${left} jobs were left ${recoveryMs} ms after the last fault` });
  }
  // The producers' pool and one for each worker.
  const most = (members.length + 1) * POOL;
  const connections = await tables.connections();
  if (connections > most) {
    found.push({ rule: "connections", text: `${connections} are open, ${most} would be the pools` });
  }
  for (const { worker } of members) {
    const bytes = worker === null ? 0 : await residentBytes(worker).catch(() => 0);
    if (bytes <= MEMORY_MAX) continue;
    found.push({
      rule: "memory",
      text: `the worker program ${worker} has ${Math.round(bytes / 2 ** 20)} MiB`,
    });
  }
  const ends = await Promise.all(members.map((member) => member.end()));
  if (ends.includes(false)) found.push({ rule: "stop", text: "a worker did not end in order within 90 s" });
  const { running, workers, marks } = await tables.leftovers();
  if (running + workers + marks > 0) {
    const text =
      `${running} running jobs, ${workers} processes and ${marks} start marks are left on the record`;
    found.push({ rule: "leftovers", text });
  }
  return found;
}

/** Looks again and again whether two jobs hold one key. */
class Sampler extends Loop {
  /** What it found. */
  readonly found: string[] = [];
  readonly #tables: Tables;

  constructor(tables: Tables) {
    super();
    this.#tables = tables;
  }

  protected async turn(): Promise<number> {
    // The server may be away.
    this.found.push(...await this.#tables.sharedKeys().catch(() => []));
    return SAMPLE_MS;
  }
}
