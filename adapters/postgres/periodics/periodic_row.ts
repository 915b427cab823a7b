import type { PeriodicRun } from "../../../ports/inspector.ts";
import type { JobState } from "../../../ports/job.ts";
import type { Json } from "../../../ports/json.ts";
import type {
  DeclaredPeriodic,
  PeriodicDeclaration,
  PeriodicRow,
  PeriodicSpec,
  StoredPeriodics,
} from "../../../ports/store.ts";
import type { TxRow } from "../../../ports/tx.ts";
import { epochMsSql } from "../sql/sql_text.ts";

/** An instant of a periodic as the runtime knows it: whole ms. */
export function tickMsSql(expression: string): string {
  return `round(${epochMsSql(expression)}::numeric)::float8`;
}

/** The columns of a periodic and of the job that waits or runs, as {@linkcode toPeriodics} reads them. */
export const PERIODIC_COLUMNS: string = `
    periodic.name, periodic.xmin::text as version, periodic.kind, periodic.queue, periodic.priority,
    periodic.max_attempts, periodic.args::text as args, periodic.every_ms::float8 as every_ms, periodic.cron,
    periodic.timezone,
    (select id from {schema}.job where job.id = periodic.job_id) as current_job_id,
    ${tickMsSql("periodic.declared_at")} as declared_ms, ${
  tickMsSql("periodic.undeclared_at")
} as undeclared_ms,
    ${tickMsSql("periodic.paused_at")} as paused_ms, ${tickMsSql("periodic.next_tick")} as next_tick_ms,
    ${tickMsSql("periodic.last_tick")} as last_tick_ms, ${tickMsSql("periodic.since")} as since_ms`;

/** Rows of a query that begins with the clock, `now_ms`: one of each periodic, or a single one without a name. */
export function toPeriodics(rows: readonly TxRow[]): StoredPeriodics {
  return {
    nowMs: Number(rows[0]!.now_ms),
    rows: rows.filter(({ name }) => name !== null).map(toPeriodic),
  };
}

function toPeriodic(row: TxRow): PeriodicRow {
  return {
    name: String(row.name),
    version: String(row.version),
    spec: toSpec(row),
    declaredMs: numberOf(row.declared_ms),
    undeclaredMs: numberOf(row.undeclared_ms),
    pausedMs: numberOf(row.paused_ms),
    nextTickMs: numberOf(row.next_tick_ms),
    lastTickMs: numberOf(row.last_tick_ms),
    sinceMs: Number(row.since_ms),
    currentJobId: row.current_job_id === null ? null : String(row.current_job_id),
    runs: typeof row.runs === "string" ? (JSON.parse(row.runs) as StoredRun[]).map(toRun) : [],
  };
}

function toSpec(row: TxRow): PeriodicSpec | null {
  if (row.kind === null || (row.every_ms === null && row.cron === null)) return null;
  return {
    schedule: row.every_ms === null
      ? { cron: String(row.cron), timezone: String(row.timezone) }
      : { every: Number(row.every_ms) },
    job: {
      kind: String(row.kind),
      queue: String(row.queue),
      priority: Number(row.priority),
      maxAttempts: Number(row.max_attempts),
      args: sameText(String(row.args)),
    },
  };
}

/** A run as a list: its job, when it ended, in which state, its output and error. What is no number is a text in JSON. */
type StoredRun = readonly [string, number | "Infinity" | "-Infinity", JobState, Json, string | null];

function toRun([jobId, finished, state, output, error]: StoredRun): PeriodicRun {
  const finishedMs = Number(finished);
  const finishedAt = new Date(Math.abs(finishedMs) <= 8.64e15 ? finishedMs : 0).toISOString();
  return { jobId, finishedAt, state, output, error };
}

/** What a process declares, for the record of processes; null when that is nothing. */
export function declaredText(periodics: readonly DeclaredPeriodic[]): string | null {
  if (periodics.length === 0) return null;
  return JSON.stringify(
    periodics.map(({ job, ...each }) => ({ ...each, job: { ...job, args: JSON.parse(job.args) } })),
  );
}

/** The same as it is read. */
export function toDeclaration(row: TxRow): PeriodicDeclaration {
  const periodics: (DeclaredPeriodic & { readonly job: { readonly args: unknown } })[] = JSON.parse(
    String(row.periodics),
  );
  return {
    atMs: Number(row.at_ms),
    periodics: periodics.map(({ job, ...each }) => ({
      ...each,
      job: { ...job, args: JSON.stringify(job.args) },
    })),
  };
}

/** PostgreSQL writes jsonb in an order of its own: texts of the same args are the same once they were read. */
function sameText(args: string): string {
  return JSON.stringify(JSON.parse(args));
}

function numberOf(value: unknown): number | null {
  return value === null ? null : Number(value);
}
