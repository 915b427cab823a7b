import { RefusedValueError } from "../../../ports/errors.ts";
import type { StoredUpkeep, UpkeepReport } from "../../../ports/upkeep.ts";
import { asciiText } from "../../../shared/text.ts";
import { epochMsSql, storableText } from "../sql/sql_text.ts";
import type { Statements } from "../sql/statements.ts";

/** After how long without a report a process's own tasks are left out. It renews those that fail every minute. */
const SILENT_MS = 5 * 60_000;

/** After how long without a report a task of the whole fleet is left out: no process has it any more. */
const FORGOTTEN_MS = 30 * 24 * 60 * 60_000;

const SILENT_FOR = "abs(extract(epoch from clock_timestamp() - renewed_at)) * 1000";
const SILENT_MAX = `case owner when '' then ${FORGOTTEN_MS} else ${SILENT_MS} end`;

/** What is stored of a failure: nothing older counts once there was a success. */
const REPORT = `
  with clock as materialized (
    select clock_timestamp() as at
  ), given as materialized (
    select
      task, coalesce(owner, '') as owner, process, error, failures,
      at - success_ago * interval '1 ms' as success_at,
      at - first_ago * interval '1 ms' as first_at,
      at - last_ago * interval '1 ms' as last_at,
      at
    from clock cross join json_to_recordset($1::text::json) as given (
      task text, owner text, process text, error text, failures int,
      success_ago float8, first_ago float8, last_ago float8
    )
  ), free as materialized (
    select task, owner
    from {schema}.upkeep
    where (task, owner) in (select task, owner from given)
    order by task, owner
    for no key update skip locked
  ), renewed as (
    update {schema}.upkeep as stored
    set
      last_success_at = coalesce(success_at, stored.last_success_at),
      last_error_at = coalesce(last_at, stored.last_error_at),
      last_error = coalesce(error, stored.last_error),
      last_error_in = case when failures > 0 then process else stored.last_error_in end,
      failing_since = coalesce(case when success_at is null then stored.failing_since end, first_at),
      failures_in_a_row = case when success_at is null then stored.failures_in_a_row else 0 end + failures,
      renewed_at = at
    from given join free using (task, owner)
    where stored.task = given.task and stored.owner = given.owner
  ), gone as materialized (
    select task, owner
    from {schema}.upkeep
    where ${SILENT_FOR} > ${SILENT_MAX}
    for update skip locked
  ), forgotten as (
    delete from {schema}.upkeep as stored
    using gone
    where stored.task = gone.task and stored.owner = gone.owner
      and (stored.task, stored.owner) not in (select task, owner from given)
  )
  insert into {schema}.upkeep (
    task, owner, last_success_at, last_error_at, last_error, last_error_in, failing_since, failures_in_a_row, renewed_at
  )
  select
    task, owner, success_at, last_at, error, case when failures > 0 then process end, first_at, failures, at
  from given
  where not exists (
    select from {schema}.upkeep as stored where stored.task = given.task and stored.owner = given.owner
  )
  order by task, owner
  on conflict (task, owner) do nothing`;

const READ = `
  select
    ${epochMsSql("clock_timestamp()")} as now_ms, task, nullif(owner, '') as owner,
    ${epochMsSql("last_success_at")} as last_success_ms, ${epochMsSql("last_error_at")} as last_error_ms,
    ${epochMsSql("failing_since")} as failing_since_ms, last_error, last_error_in, failures_in_a_row
  from (values (1)) as always
  left join {schema}.upkeep
    on ${SILENT_FOR} <= ${SILENT_MAX}
  order by task, owner`;

/** Records how upkeep tasks go. */
export async function reportUpkeep(database: Statements, reports: readonly UpkeepReport[]): Promise<void> {
  try {
    await database.query(REPORT, [rowsOf(reports, storableText)]);
  } catch (error) {
    if (!(error instanceof RefusedValueError)) throw error;
    // The database's encoding lacks a character of an error: the rest of its text is worth more than none.
    await database.query(REPORT, [rowsOf(reports, asciiText)]);
  }
}

/** What is stored of them. */
export async function readUpkeep(database: Statements): Promise<StoredUpkeep> {
  const rows = await database.query(READ);
  return {
    nowMs: Number(rows[0]?.now_ms),
    rows: rows.filter((row) => row.task !== null).map((row) => ({
      task: String(row.task),
      owner: row.owner === null ? null : String(row.owner),
      lastSuccessMs: instant(row.last_success_ms),
      lastErrorMs: instant(row.last_error_ms),
      lastError: row.last_error === null ? null : String(row.last_error),
      lastErrorIn: row.last_error_in === null ? null : String(row.last_error_in),
      failingSinceMs: instant(row.failing_since_ms),
      failuresInARow: Number(row.failures_in_a_row),
    })),
  };
}

function rowsOf(reports: readonly UpkeepReport[], text: (error: string) => string): string {
  return JSON.stringify(reports.map(({ task, owner, process, successAgoMs, failed }) => ({
    task,
    owner,
    process: text(process),
    error: failed === null ? null : text(failed.error),
    failures: failed?.count ?? 0,
    success_ago: successAgoMs,
    first_ago: failed?.firstAgoMs ?? null,
    last_ago: failed?.lastAgoMs ?? null,
  })));
}

/** Null for what is no instant, such as `infinity`. */
function instant(ms: unknown): number | null {
  return typeof ms === "number" && Math.abs(ms) <= 8.64e15 ? ms : null;
}
