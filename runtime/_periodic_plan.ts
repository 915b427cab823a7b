import type { Schedule } from "../ports/schedule.ts";
import type {
  DeclaredPeriodic,
  PeriodicPlan,
  PeriodicRow,
  PeriodicSchedule,
  PeriodicSpec,
} from "../ports/store.ts";
import { isInstant, nextTick } from "./_ticks.ts";

/**
 * So long after its last process has gone a periodic that is declared again goes on where it was, in ms: its program was down
 * while others were not, and the ticks that passed are made up for as if all had been. Later it is one that begins anew, for
 * nobody expects a run of what was removed long ago.
 */
export const AWAY_MS_MAX: number = 7 * 24 * 60 * 60 * 1000;

/** What a living process declares of a periodic. */
export interface Declaration {
  /** When, whole ms since the epoch. */
  readonly atMs: number;
  /** What. */
  readonly periodic: DeclaredPeriodic;
}

/** What decides on the plan of a periodic. */
export interface PlanInput {
  /** What is stored; undefined when nothing is. */
  readonly row: PeriodicRow | undefined;
  /** What living processes declare, different things only, the newest first. */
  readonly declarations: readonly Declaration[];
  /** Knows cron expressions. */
  readonly schedule: Schedule;
  /** The store's clock, ms since the epoch. */
  readonly nowMs: number;
}

/** What a periodic is to be, or null when it is that already. */
export function planOf(input: PlanInput): PeriodicPlan | null {
  const { row, declarations, nowMs } = input;
  const chosen = choose(row, declarations);
  if (chosen === null) return row === undefined ? null : withdrawn(row);
  const { periodic, atMs } = chosen;
  const spec: PeriodicSpec = { schedule: periodic.schedule, job: periodic.job };
  const countsAnew = row !== undefined && row.spec !== null &&
    (!isSameSchedule(row.spec.schedule, spec.schedule) || hasBeenAway(row, nowMs));
  const plan: PeriodicPlan = {
    name: periodic.name,
    version: row?.version ?? null,
    spec,
    declaredMs: atMs,
    isDeclared: true,
    nextTickMs: nextTickOf(input, periodic, countsAnew),
    countsAnew,
  };
  return row !== undefined && isAsPlanned(row, plan, declarations.length > 1) ? null : plan;
}

/** What a plan means for a periodic that is there. */
export type Turn = "left" | "made up for" | "back" | "anew";

/** What becomes of a periodic whose last process has left, or that is declared again; null when it is neither. */
export function turnOf(row: PeriodicRow | undefined, plan: PeriodicPlan, nowMs: number): Turn | null {
  if (row === undefined) return null;
  if (!plan.isDeclared) return "left";
  if (row.undeclaredMs === null) return null;
  if (plan.countsAnew) return "anew";
  return plan.nextTickMs !== null && plan.nextTickMs <= nowMs ? "made up for" : "back";
}

/** Whether the next tick, or where it counts from, can't be: it was stored while the clock was ahead, or by hand. */
export function isAhead(row: PeriodicRow, schedule: Schedule, nowMs: number): boolean {
  if (row.spec === null) return row.lastTickMs !== null && !(row.lastTickMs <= nowMs);
  if (row.nextTickMs === null || row.nextTickMs <= nowMs) return false;
  return row.nextTickMs > (nextTick(row.spec.schedule, schedule, nowMs) ?? nowMs);
}

/** The last declaration holds while a living process makes it; then the newest of the others does. */
function choose(row: PeriodicRow | undefined, declarations: readonly Declaration[]): Declaration | null {
  const newest = declarations[0];
  if (newest === undefined) return null;
  const stored = row?.spec ?? null;
  if (row === undefined || stored === null || newest.atMs > (row.declaredMs ?? -Infinity)) return newest;
  return declarations.find(({ periodic }) => isSameSpec(periodic, stored)) ?? newest;
}

/** Nobody declares it any more, so it has no ticks. */
function withdrawn(row: PeriodicRow): PeriodicPlan | null {
  const { name, version, spec, declaredMs } = row;
  if (spec === null || row.undeclaredMs !== null) return null;
  return {
    name,
    version,
    spec,
    declaredMs: declaredMs ?? 0,
    isDeclared: false,
    nextTickMs: null,
    countsAnew: false,
  };
}

function nextTickOf(
  { row, schedule, nowMs }: PlanInput,
  periodic: DeclaredPeriodic,
  countsAnew: boolean,
): number | null {
  const after = (ms: number) => nextTick(periodic.schedule, schedule, ms);
  if (row !== undefined && row.pausedMs !== null) return null;
  const lastMs = row?.lastTickMs ?? null;
  const isNew = row === undefined || (row.spec === null && lastMs === null);
  if (isNew) return periodic.runAtStart ? startTick(periodic.schedule, nowMs) : after(nowMs);
  if (countsAnew || isAhead(row, schedule, nowMs)) return after(nowMs);
  // Of a program that stored no schedules: as if its own had been this one.
  if (row.spec === null) return after(isInstant(lastMs) ? lastMs : nowMs);
  if (row.undeclaredMs === null && row.nextTickMs !== null) return row.nextTickMs;
  return after(
    Math.max(isInstant(lastMs) ? lastMs : -Infinity, isInstant(row.sinceMs) ? row.sinceMs : nowMs),
  );
}

/** The tick that a run at the start stands for, so that the next one comes in its time. */
function startTick(schedule: PeriodicSchedule, nowMs: number): number {
  return "every" in schedule ? Math.floor(nowMs / schedule.every) * schedule.every : Math.floor(nowMs);
}

function hasBeenAway(row: PeriodicRow, nowMs: number): boolean {
  if (row.undeclaredMs === null) return false;
  return !isInstant(row.undeclaredMs) || nowMs - row.undeclaredMs > AWAY_MS_MAX;
}

function isAsPlanned(row: PeriodicRow, plan: PeriodicPlan, isContested: boolean): boolean {
  return row.spec !== null && row.undeclaredMs === null && !plan.countsAnew &&
    row.nextTickMs === plan.nextTickMs && isSameSpec(row.spec, plan.spec) &&
    // Who declared it last matters only where others declare something else.
    (!isContested || row.declaredMs === plan.declaredMs);
}

/** Whether two declare the same. */
export function isSameSpec(one: PeriodicSpec, other: PeriodicSpec): boolean {
  return isSameSchedule(one.schedule, other.schedule) && one.job.kind === other.job.kind &&
    one.job.queue === other.job.queue && one.job.priority === other.job.priority &&
    one.job.maxAttempts === other.job.maxAttempts && one.job.args === other.job.args;
}

function isSameSchedule(one: PeriodicSchedule, other: PeriodicSchedule): boolean {
  if ("every" in one || "every" in other) {
    return "every" in one && "every" in other && one.every === other.every;
  }
  return one.cron === other.cron && one.timezone === other.timezone;
}
