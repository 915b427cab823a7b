import type { Database } from "../ports/database.ts";
import { InvalidOptionError } from "../ports/errors.ts";
import type { JobId } from "../ports/job.ts";
import type { Log } from "../ports/log.ts";
import type { Tx, TxRow } from "../ports/tx.ts";
import { silentLog } from "../shared/log.ts";
import {
  checkOptions,
  flag,
  integer,
  type Option,
  type Options,
  required,
  UNCHECKED,
} from "../shared/options.ts";
import { quoteColumn, quoteTable } from "./_identifiers.ts";
import { COLUMN_TYPE, PAGES, type Statements, statementsOf } from "./_statements.ts";

/** Which rows should have a job. */
export interface ReconcileSpec {
  /** The database with both the rows and the jobs: a registrar's `parts.database`. */
  readonly database: Database;
  /** The table: `orders`, or `shop.orders`. Checked and quoted; must not be a view. */
  readonly table: string;
  /** The column for the id of a row's job: `text`, `varchar` or `bigint`. Checked and quoted. */
  readonly jobColumn: string;
  /**
   * The condition under which a row should have a job, as SQL over the table's columns: `status = 'pending'`. It is
   * inserted into the statements unchanged: use a constant of your program, never anything made from user input.
   */
  readonly where: string;
  /** The most rows that one pass reads, 1 to 100,000. Default 1,000. */
  readonly batch?: number;
  /**
   * Whether a row gets a new job when its job can never run again, because it has ended or was purged, and `where`
   * still holds. Default false: only rows without a job get one.
   */
  readonly rescueDeadJobs?: boolean;
  /**
   * Which of the rows with dead jobs get a new one, as SQL like `where`: `updated_at < now() - interval '1 hour'`.
   * Default all.
   */
  readonly rescueWhere?: string;
  /** Receives a line for each row that failed. Default: none. */
  readonly log?: Log;
  /** Ends the pass after the current row. */
  readonly signal?: AbortSignal;
}

/**
 * Enqueues the job for one row in the given transaction, and resolves to its id. It must not change the row, which is
 * stamped with the id afterwards. Don't use `uniqueByArgs` with `rescueDeadJobs`: a completed job would be found
 * instead of a new one added.
 */
export type EnqueueForRow = (tx: Tx, row: TxRow) => Promise<JobId>;

/** The result of one pass. */
export interface Reconciled {
  /** Rows that had no job and got one. */
  readonly enqueued: number;
  /** Rows whose job could never run again and that got a new one. */
  readonly rescued: number;
  /** Rows that were no longer stranded, or were held by someone else, when their turn came. */
  readonly skipped: number;
  /** Rows that failed; the log says why. The next pass tries them again. */
  readonly failed: number;
}

const BATCH_MAX = 100_000;
/** What the statements accept as an id when they check whether a row's job is alive. */
const JOB_ID = /^[1-9][0-9]{0,17}$/;
const CONDITION: Option = {
  expected: "a condition in SQL",
  accepts: (value) => typeof value === "string" && value.trim() !== "",
};
const SPEC: Options<ReconcileSpec> = {
  database: UNCHECKED,
  table: UNCHECKED,
  jobColumn: UNCHECKED,
  where: required(CONDITION),
  batch: integer({ min: 1, max: BATCH_MAX, default: 1000 }),
  rescueDeadJobs: flag(),
  rescueWhere: CONDITION,
  log: UNCHECKED,
  signal: UNCHECKED,
};
const JOB_COLUMN_TYPES = ["text", "character varying", "bigint"];

/**
 * Gives a job to rows that should have one but don't. Reads a bounded batch. Then, in a separate transaction for each
 * row, locks the row, checks it again, enqueues a job and stamps the row with its id. However many processes do this at
 * once, and whichever dies in between, a stranded row gets one job. A row that fails is logged and skipped.
 *
 * Each pass begins at a random place in the table, so that rows that always fail can't starve the others.
 *
 * @throws {InvalidOptionError} if a name is not an identifier, the table or column doesn't exist, the column's type
 * can't hold an id, or `batch` is out of range.
 *
 * @example
 * ```ts
 * const { enqueued } = await reconcilePending(
 *   { database, table: "orders", jobColumn: "mail_job_id", where: "mailed_at is null", log },
 *   (tx, row) => jobs.with(tx).enqueue("order.mail", { orderId: String(row.id) }),
 * );
 * ```
 */
export async function reconcilePending(spec: ReconcileSpec, enqueue: EnqueueForRow): Promise<Reconciled> {
  checkSpec(spec, enqueue);
  const { database, signal, batch = 1000 } = spec;
  const statements = await prepare(spec);
  const counts = { enqueued: 0, rescued: 0, skipped: 0, failed: 0 };
  for (const place of await scan(database, statements, quoteTable(spec.table), batch)) {
    if (signal?.aborted) break;
    counts[await driveRow(spec, statements, place, enqueue)]++;
  }
  return counts;
}

/** Refuses what is recognizably wrong without a database. */
export function checkSpec(spec: ReconcileSpec, enqueue: EnqueueForRow): void {
  checkOptions("a reconciliation", spec, SPEC);
  if (typeof enqueue !== "function") {
    throw new InvalidOptionError("enqueue", enqueue, "a function that enqueues the job of a row");
  }
  const { rescueWhere, rescueDeadJobs } = spec;
  quoteTable(spec.table);
  quoteColumn(spec.jobColumn);
  if (rescueWhere !== undefined && rescueDeadJobs !== true) {
    throw new InvalidOptionError("rescueWhere", rescueWhere, "rescueDeadJobs: true beside it");
  }
}

interface Place {
  readonly part: string;
  readonly place: string;
}

async function prepare(spec: ReconcileSpec): Promise<Statements> {
  const { database, where, rescueDeadJobs, rescueWhere } = spec;
  const table = quoteTable(spec.table);
  if ((await database.query(PAGES, [table])).length === 0) {
    throw new InvalidOptionError("table", spec.table, "a table that is there, and no view");
  }
  const [column] = await database.query(COLUMN_TYPE, [table, spec.jobColumn]);
  if (column === undefined) {
    throw new InvalidOptionError("jobColumn", spec.jobColumn, `a column of ${spec.table}`);
  }
  const jobType = String(column.type);
  if (!JOB_COLUMN_TYPES.includes(jobType)) {
    throw new InvalidOptionError(
      "jobColumn",
      spec.jobColumn,
      `a column of text, varchar or bigint, not ${jobType}`,
    );
  }
  return statementsOf({
    table,
    name: quoteTable(spec.table.slice(spec.table.indexOf(".") + 1)),
    jobColumn: quoteColumn(spec.jobColumn),
    jobType,
    where,
    rescueWhere: rescueDeadJobs === true ? rescueWhere ?? "true" : null,
  });
}

async function scan(
  database: Database,
  statements: Statements,
  table: string,
  batch: number,
): Promise<Place[]> {
  const [size] = await database.query(PAGES, [table]);
  const start = `(${Math.floor(Math.random() * (Number(size?.pages) + 1))},0)`;
  const rows = [...await database.query(statements.scanFrom, [start, String(batch)])];
  if (rows.length < batch) {
    rows.push(...await database.query(statements.scanBefore, [start, String(batch - rows.length)]));
  }
  return rows.map((row) => ({ part: String(row.part), place: String(row.place) }));
}

async function driveRow(
  spec: ReconcileSpec,
  statements: Statements,
  { part, place }: Place,
  enqueue: EnqueueForRow,
): Promise<keyof Reconciled> {
  try {
    return await spec.database.transaction(async (tx) => {
      const [taken] = await tx.unsafe(statements.take, [part, place]);
      if (taken === undefined) return "skipped";
      const { millrace_job_before: before, ...row } = taken;
      const id = await enqueue(tx, row);
      if (typeof id !== "string" || !JOB_ID.test(id)) {
        throw new TypeError(`enqueue() resolved to ${JSON.stringify(id)}, expected the id of a job`);
      }
      if (id === before) throw new TypeError(`enqueue() found the dead job ${id}, expected a new one`);
      const stamped = await tx.unsafe(statements.stamp, [part, place, id]);
      // An unstamped row would get another job with each pass.
      if (stamped.length === 0) {
        throw new Error(
          "the row could not be stamped: enqueue() has changed it, or a trigger keeps it as it is",
        );
      }
      return before === null ? "enqueued" : "rescued";
    });
  } catch (error) {
    (spec.log ?? silentLog).warn("row not reconciled, the next pass tries it again", {
      table: spec.table,
      place,
      error: error instanceof Error ? `${error.name}: ${error.message}` : String(error),
    });
    return "failed";
  }
}
