import type { Composition } from "../ports/composition.ts";
import type { Overview, QueueOverview } from "../ports/inspector.ts";
import { JOB_STATES, type JobState } from "../ports/job.ts";
import type { Counts } from "../ports/store.ts";
import type { UpkeepOverview } from "../ports/upkeep.ts";

/** What an overview is made of. */
export interface OverviewParts {
  /** What the store counted. */
  readonly counts: Counts;
  /** How the upkeep goes. */
  readonly upkeep: readonly UpkeepOverview[];
  /** What is declared. */
  readonly composition: Composition;
  /** Of this kind alone. */
  readonly kind: string | undefined;
}

/** Puts what the store counted beside what is declared: a kind that never ran is there too, with zeros. */
export function overviewOf({ counts, upkeep, composition, kind }: OverviewParts): Overview {
  const declared = [...composition.kinds.keys()].filter((name) => kind === undefined || name === kind);
  const stored = counts.states.map((count) => count.kind);
  const names = [...new Set([...declared, ...stored])].sort();
  const kinds = names.map((name) => ({
    kind: name,
    declared: composition.kinds.has(name),
    states: sum(counts.states.filter((count) => count.kind === name)),
  }));
  const ages = counts.waiting.map((waiting) => waiting.oldestMs);
  return {
    kinds,
    states: sum(counts.states),
    oldestPendingMs: ages.length === 0 ? null : Math.max(...ages),
    waiting: counts.waiting,
    queues: queuesOf(counts, composition),
    undeclared: counts.undeclared,
    bytes: counts.bytes,
    upkeep,
  };
}

function sum(counts: Counts["states"]): Record<JobState, number> {
  const states = Object.fromEntries(JOB_STATES.map((state) => [state, 0])) as Record<JobState, number>;
  for (const { state, count } of counts) states[state] += count;
  return states;
}

function queuesOf(counts: Counts, composition: Composition): QueueOverview[] {
  const paused = new Map(counts.paused.map(({ queue, pausedAt }) => [queue, pausedAt]));
  return [...new Set([...composition.queues.keys(), ...paused.keys()])].sort().map((queue) => ({
    queue,
    concurrency: composition.queues.get(queue)?.concurrency ?? null,
    pausedAt: paused.get(queue) ?? null,
  }));
}
