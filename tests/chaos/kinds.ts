import type { Handler } from "../../ports/handler.ts";
import type { Kind, Periodic, Queue } from "../../ports/kind.ts";
import type { Settings } from "../../runtime/settings.ts";

/** About a fifth of the defaults: long enough that a loaded machine does not look like a death. */
export const SETTINGS: Partial<Settings> = {
  pollMs: 250,
  heartbeatMs: 1000,
  lostAfterMs: 4000,
  leaseMs: 4000,
  stopGraceMs: 2000,
};

/** The connections of each program's pool. */
export const POOL = 8;

/** Longer than any fault, so that only what hangs runs into it. */
export const LONG_MS = 90_000;
/** So many attempts that only a fault of the product's spends them all. */
export const MANY = 30;
const MIB = 1024 * 1024;

/** A periodic, and the kind of its jobs. */
export const ORDINARY = "ordinary";

const ACT: string = new URL("./handlers/act.ts", import.meta.url).href;
const TICK: string = new URL("./handlers/tick.ts", import.meta.url).href;

/** Loaded when the first job of the kind runs, so that a thread never loads it twice. */
const inline: Handler = async (args, ctx) => (await import(ACT)).default(args, ctx);

/** How often the periodics run, in ms. */
export const PERIODS: Readonly<Record<string, number>> = { second: 1000, slow: 3000, ordinary: 2000 };

/** The queues of a run. */
export const QUEUES: readonly Queue[] = [
  { name: "default", concurrency: 12 },
  { name: "rough", concurrency: 4 },
  { name: "fast", concurrency: 10 },
  { name: "webhook", concurrency: 16 },
];

/**
 * The kinds of a run. Those of the queue `rough` misbehave on purpose; no other kind's handler ever fails but as its
 * steps tell, so what its jobs are charged with beyond that is somebody else's fault.
 */
export const KINDS: readonly Kind[] = [
  kind("steady", {}),
  kind("steady.host", { isolation: "process" }),
  kind("steady.inline", { handler: inline }),
  kind("fast", { queue: "fast" }),
  kind("effect", {}),
  kind("effect.host", { isolation: "process" }),
  kind("wild", { queue: "rough", maxAttempts: 4 }),
  kind("wild.host", { queue: "rough", maxAttempts: 4, isolation: "process" }),
  kind("slow", { queue: "rough", maxAttempts: 2, timeout: 800 }),
  kind("slow.host", { queue: "rough", maxAttempts: 2, timeout: 800, isolation: "process" }),
  kind("hungry", { queue: "rough", maxAttempts: 2, memory: 160 * MIB }),
  kind("bomb", { queue: "rough", maxAttempts: 3 }),
  kind("follow", { unique: { by: ["thing"] } }),
  kind("follow.calm", { debounce: { by: ["thing"], quietMs: 300, atMostMs: 1500 } }),
  kind(ORDINARY, { maxAttempts: 3 }),
];

/** The periodics of a run. */
export const PERIODICS: readonly Periodic[] = [
  { name: "second", every: PERIODS.second!, handler: TICK },
  { name: "slow", every: PERIODS.slow!, handler: TICK, isolation: "process" },
  {
    name: ORDINARY,
    every: PERIODS.ordinary!,
    kind: ORDINARY,
    args: { tag: ORDINARY, ms: 100, steps: [{ do: "return" }] },
  },
];

function kind(name: string, change: Partial<Kind>): Kind {
  return {
    name,
    queue: "default",
    maxAttempts: MANY,
    timeout: LONG_MS,
    backoff: () => 200,
    handler: ACT,
    ...change,
  };
}
