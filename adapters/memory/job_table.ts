import { isFinal, type JobId } from "../../ports/job.ts";
import { holdsKey, type JobRow, liesAside, waits } from "./job_row.ts";
import { WaitingLine } from "./waiting_line.ts";

/** The committed jobs, with what is derived from them: who waits in which queue, who holds which unique key. */
export class JobTable {
  readonly #rows = new Map<JobId, JobRow>();
  readonly #lines = new Map<string, WaitingLine>();
  readonly #keys = new Map<string, JobId>();
  readonly #onEnded: (row: JobRow) => void;

  /** `onEnded` is told of each job that reaches a final state. */
  constructor(onEnded: (row: JobRow) => void) {
    this.#onEnded = onEnded;
  }

  get(id: JobId): JobRow | undefined {
    return this.#rows.get(id);
  }

  all(): Iterable<JobRow> {
    return this.#rows.values();
  }

  lines(): Iterable<[string, WaitingLine]> {
    return this.#lines;
  }

  line(queue: string): WaitingLine {
    let line = this.#lines.get(queue);
    if (line === undefined) this.#lines.set(queue, line = new WaitingLine());
    return line;
  }

  holder(key: string): JobId | undefined {
    return this.#keys.get(key);
  }

  /** Makes a job the holder of a key. */
  hold(key: string, id: JobId): void {
    this.#keys.set(key, id);
  }

  /** Makes this the job's version that everyone sees. */
  put(row: JobRow): void {
    const before = this.#rows.get(row.id);
    if (before !== undefined && isInLine(before)) this.line(before.queue).remove(before);
    this.#rows.set(row.id, row);
    if (isInLine(row)) this.line(row.queue).add(row);
    if (!holdsKey(row)) this.#release(row);
    if (isFinal(row.state) && (before === undefined || !isFinal(before.state))) this.#onEnded(row);
  }

  delete(row: JobRow): void {
    if (isInLine(row)) this.line(row.queue).remove(row);
    this.#rows.delete(row.id);
    this.#release(row);
  }

  #release(row: JobRow): void {
    if (row.key !== null && this.#keys.get(row.key) === row.id) this.#keys.delete(row.key);
  }
}

function isInLine(row: JobRow): boolean {
  return waits(row) && !liesAside(row);
}
