import { createRuntime } from "../../mod.ts";
import { silentLog } from "../../shared/log.ts";
import { eventually, pause } from "../conformance/eventually.ts";
import { TcpProxy } from "../integration/support/tcp_proxy.ts";
import { aftermath } from "./aftermath.ts";
import { Changer } from "./changer.ts";
import type { Violation } from "./check/evidence.ts";
import type { History } from "./check/history.ts";
import { check } from "./check/mod.ts";
import { drain } from "./drain.ts";
import {
  ENDPOINTS,
  EVENT_SETTINGS,
  EVENT_TYPES,
  EXPOSED,
  makeWebhooks,
  SUBSCRIBERS,
  SUBSCRIPTIONS,
} from "./events.ts";
import { Injector } from "./faults/injector.ts";
import { JournalWriter, readJournal } from "./journal.ts";
import { KINDS, PERIODICS, PERIODS, POOL, QUEUES, SETTINGS } from "./kinds.ts";
import { Person } from "./person.ts";
import { Producer } from "./producers.ts";
import { Random } from "./random.ts";
import { Receiver } from "./receiver.ts";
import { EventRecorder } from "./recorders.ts";
import { repair } from "./repair.ts";
import { Sampler } from "./sampler.ts";
import { makeFleet, startDatabase, startPair } from "./scene.ts";
import { Tables } from "./tables.ts";
import { type KeptEndpoint, WebhookKeeper } from "./webhook_keeper.ts";
import { WebhookTables } from "./webhook_tables.ts";

const PRODUCERS = 3;
const RECORDERS = 2;
const CHANGERS = 2;
const SCHEMA = "chaos";
const START_MS_MAX = 180_000;
/** So long after the last fault the receiver still fails at random, in ms: much is only delivered then. */
const RECEIVER_FAILS_MS = 15_000;

/** What a run is told. */
export interface RunOptions {
  /** Determines faults and work. */
  readonly seed: number;
  /** For how long faults are made, in ms. */
  readonly ms: number;
  /** Whether a standby follows the server and may take its place. */
  readonly pair: boolean;
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
export async function run({ seed, ms, pair: hasStandby, folder, say }: RunOptions): Promise<RunResult> {
  const random = new Random(seed);
  const journalPath = `${folder}/journal.jsonl`;
  await using stack = new AsyncDisposableStack();
  const journal = stack.use(new JournalWriter(journalPath));
  const { url, server, pair, disk, sql } =
    await (hasStandby ? startPair(stack) : startDatabase(stack, ms / 1000, say));
  const proxy = stack.use(new TcpProxy(url));
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
  const webhookTables = new WebhookTables(sql, SCHEMA);
  await tables.create();
  const site = { url, schema: SCHEMA, journal: journalPath, folder };
  const { members, pooler } = await makeFleet(stack, site, journal, say);
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
  const endpoints: KeptEndpoint[] = [];
  for (const { name, host, ...draft } of ENDPOINTS) {
    const { endpoint, secret } = await webhooks.create({
      ownerId: null,
      ...draft,
      url: receiver.url(name, host),
      eventTypes: ["fact.*"],
      description: name,
    });
    receiver.expect(name, secret);
    endpoints.push({ name, id: endpoint.id });
  }
  const recorders = Array.from(
    { length: RECORDERS },
    (_, n) => new EventRecorder(shop, random.fork(), `recorder ${n + 1}`),
  );
  const keeper = new WebhookKeeper(shop, webhooks, endpoints, random.fork());
  const injector = new Injector(
    { members, server, pair, disk, pooler, proxy, receiver, sql, schema: SCHEMA, journal },
    injectorsRandom,
  );
  const sampler = new Sampler(tables);
  const changers = Array.from({ length: CHANGERS }, () => new Changer(shop, random.fork()));
  const people = [...producers, ...recorders, ...changers, person, keeper];
  for (const part of [...people, injector, sampler]) part.start();
  await pause(ms);
  await injector.stop();
  const calmAt = performance.now();
  journal.write({ what: "fault", name: "no more faults" });
  await Promise.all(people.map((part) => part.stop()));
  const recovering = pause(RECEIVER_FAILS_MS).then(() => receiver.recover());
  const left = await drain(() => tables.undone(), say);
  const recoveryMs = Math.round(performance.now() - calmAt);
  await recovering;
  const givenUp = await repair({ runtime, webhooks, keeper, endpoints, tables, webhookTables, say });
  const after = await aftermath({ members, tables, pool: POOL, recoveryMs, left });
  const [jobs, effects, orders] = [await tables.jobs(), await tables.effects(), await tables.orders()];
  await sampler.stop();
  const lines = await readJournal(journalPath);
  const { violations, history } = check({
    ...{ lines, jobs, effects, orders, periods: PERIODS, lostAfterMs: SETTINGS.lostAfterMs! },
    changes: await tables.changes(),
    sharedKeys: sampler.found,
    events: await tables.events(),
    facts: await tables.facts(),
    deliveries: await webhookTables.deliveries(),
    givenUp,
    replays: await webhookTables.replays(),
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
    ...(job === undefined ? [] : [
      JSON.stringify(history.jobs.get(job) ?? "no row"),
      ...history.tellDeliveries(job),
      ...history.tell(job),
    ]),
    ...(event === undefined
      ? []
      : [JSON.stringify(history.events.get(event) ?? "no row"), ...history.tellEvent(event)]),
  ];
}
