import type { NewJob } from "../../../ports/store.ts";
import type { TxParam, TxRow } from "../../../ports/tx.ts";
import { arrayLiteral } from "../sql/sql_text.ts";
import { readySignal, type SignalTarget } from "../wakes/signals.ts";

/** Where jobs are written to. */
export interface InsertTarget extends SignalTarget {
  /** The schema, quoted for SQL. */
  readonly quotedSchema: string;
  /** A statement with the schema's name in it. */
  readonly statement: (text: string) => string;
}

/** Placeholders and values for the columns of new jobs. */
export function columnsOf(jobs: readonly NewJob[]): TxParam[] {
  return [
    arrayLiteral(jobs.map((job) => job.kind)),
    arrayLiteral(jobs.map((job) => job.queue)),
    arrayLiteral(jobs.map((job) => job.priority)),
    arrayLiteral(jobs.map((job) => job.maxAttempts)),
    arrayLiteral(jobs.map((job) => job.args)),
    arrayLiteral(jobs.map((job) => job.runAt)),
  ];
}

/** The channel, the queues of jobs and the message that wakes each: $7, $8, $9. */
export function wakeParams(channel: string, jobs: readonly NewJob[]): TxParam[] {
  const queues = [...new Set(jobs.map((job) => job.queue))];
  return [channel, arrayLiteral(queues), arrayLiteral(queues.map(readySignal))];
}

/** The kinds of jobs, each once. */
export function kindsOf(jobs: readonly NewJob[]): string[] {
  return [...new Set(jobs.map((job) => job.kind))];
}

/**
 * The id in a row of an insert. A caller's driver may rename columns; its transaction is then rolled back by the error,
 * where an id that is none would be stored beside the job.
 *
 * @throws {TypeError} the row has no such column.
 */
export function idOf(row: TxRow): string {
  if (row.id !== undefined) return String(row.id);
  throw new TypeError(
    `Cannot read the id of a job: the transaction's rows have ${
      Object.keys(row).join(", ")
    }, expected the column id ` +
      `as it is named, without a transform`,
  );
}
