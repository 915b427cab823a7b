import { percentile } from "../figures.ts";
import type { PeerProcess } from "../peer_process.ts";

/** One thing that two revisions are compared by. */
export interface Comparison {
  /** How it is asked for: the name of the scenario that it is part of. */
  readonly name: string;
  /** In a sentence. */
  readonly title: string;
  /** What one round is about: jobs, transactions, events, deliveries. */
  readonly item: string;
  /** The peers' program, as a path from `bench/`. */
  readonly program: string;
  /** What the program is told when it opens. */
  readonly open: Readonly<Record<string, unknown>>;
  /** How many items a round has. */
  readonly items: number;
  /** What is there before the measurement begins. */
  readonly prepare: (peer: PeerProcess, items: number) => Promise<unknown>;
  /** What is measured. */
  readonly run: (peer: PeerProcess, items: number) => Promise<Reached>;
}

/** What one run of one side came to. */
export interface Reached {
  /** How many items it was about. */
  readonly items: number;
  /** The figures by which the sides are compared. */
  readonly figures: readonly {
    readonly what: string;
    readonly better: "more" | "less";
    readonly value: number;
  }[];
}

const MAIN = "peers/millrace/main.ts";
const QUEUE = { inline: false, concurrency: 1000, threads: null, connections: 10 };
const CHUNK = 5000;
const CAP_MS = 60_000;
const LATENCY_PAUSE_MS = 5;
const DELIVERED_TO = 50;

async function drained(peer: PeerProcess, jobs: number): Promise<Reached> {
  return rateOf((await peer.call<Finished>("drain", { jobs, capMs: CAP_MS }))!);
}

/** Everything that revisions are compared by. */
export const COMPARISONS: readonly Comparison[] = [
  {
    name: "drain",
    title: "No-op jobs, queued before, handlers in threads",
    item: "job",
    program: MAIN,
    open: QUEUE,
    items: 30_000,
    prepare: (peer, jobs) => peer.call("bulk", { jobs, chunk: CHUNK }),
    run: drained,
  },
  {
    name: "enqueue",
    title: "Single enqueues, 10 at a time",
    item: "job",
    program: MAIN,
    open: QUEUE,
    items: 6000,
    prepare: nothing,
    run: (peer, jobs) => timed(peer, "enqueue", jobs, { jobs, atOnce: 10 }),
  },
  {
    name: "enqueue-in-transaction",
    title:
      "A business row and a job in one transaction, 10 connections, a worker elsewhere that claims without a pause",
    item: "transaction",
    program: MAIN,
    open: QUEUE,
    items: 6000,
    prepare: nothing,
    run: (peer, jobs) => timed(peer, "enqueueInTransaction", jobs, { jobs, atOnce: 10, awake: true }),
  },
  {
    name: "latency",
    title: "From the call that enqueues to the handler's start, idle worker",
    item: "job",
    program: MAIN,
    open: QUEUE,
    items: 500,
    prepare: nothing,
    async run(peer, samples) {
      const { ms } = (await peer.call<{ ms: number[] }>("latency", {
        samples,
        pauseMs: LATENCY_PAUSE_MS,
        capMs: CAP_MS,
      }))!;
      return { items: ms.length, figures: [{ what: "p50, ms", better: "less", value: percentile(ms, 0.5) }] };
    },
  },
  {
    name: "relay",
    title: "A backlog of events, fanned out to one subscriber",
    item: "event",
    program: "peers/millrace/relay.ts",
    open: {},
    items: 30_000,
    prepare: (peer, events) => peer.call("seed", { events }),
    run: async (peer) => rateOf((await peer.call<Finished>("fanOut"))!),
  },
  {
    name: "webhooks",
    title: `Events, delivered to ${DELIVERED_TO} endpoints each`,
    item: "delivery",
    program: "peers/millrace/webhooks.ts",
    open: {},
    items: 100 * DELIVERED_TO,
    prepare: (peer) => peer.call("deliver", { events: 10 }),
    run: async (peer, deliveries) =>
      rateOf((await peer.call<Finished>("deliver", { events: Math.ceil(deliveries / DELIVERED_TO) }))!),
  },
];

interface Finished {
  readonly done: number;
  readonly seconds: number;
}

function rateOf({ done, seconds }: Finished): Reached {
  return { items: done, figures: [{ what: "a second", better: "more", value: done / seconds }] };
}

async function timed(
  peer: PeerProcess,
  method: string,
  items: number,
  params: Record<string, unknown>,
): Promise<Reached> {
  const { seconds } = (await peer.call<{ seconds: number }>(method, params))!;
  return rateOf({ done: items, seconds });
}

function nothing(): Promise<void> {
  return Promise.resolve();
}
