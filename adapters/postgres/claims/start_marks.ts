import { OffTheRecordError } from "../../../ports/errors.ts";
import type { JobId } from "../../../ports/job.ts";
import type { RunRef } from "../../../ports/store.ts";
import { GIVEN_UP } from "../processes/rescue.ts";
import { arrayLiteral, refColumns } from "../sql/sql_text.ts";
import type { Statements } from "../sql/statements.ts";

/** Under the lock nobody takes the process off the record, and a mark that comes late finds nobody to be for. */
const MARK = `
  with alive as materialized (
    select 1 from {schema}.worker where id = $1::text::uuid and heartbeat_at > ${GIVEN_UP} for key share
  ), marked as (
    insert into {schema}.start_mark (owner, seq, job_ids, runs)
    select $1::text::uuid, $2::text::bigint, $3::text::bigint[], $4::text::int[]
    from alive
    on conflict (owner, seq) do nothing
  )
  select from alive`;

const DELETE = `
  delete from {schema}.start_mark
  where owner = $1::text::uuid and seq = any($2::text::bigint[])`;

/** Of the runs of these marks, those that still run. */
const STILL_RUNNING = `
  select start_mark.seq, running.id, running.run
  from {schema}.start_mark
  cross join unnest(job_ids, runs) as marked (id, run)
  join {schema}.job as running on running.id = marked.id and running.run = marked.run and running.state = 'running'
  where start_mark.owner = $1::text::uuid and start_mark.seq = any($2::text::bigint[])`;

/** How long a mark is left alone before the database is asked which of its runs still run, in ms. */
const ASK_AFTER_MS = 60_000;

/** The most marks that one statement deletes, and the most that one clean-up asks about. */
const DELETE_MAX = 5000;
const ASK_MAX = 100;

interface Mark {
  readonly seq: number;
  /** How many of its runs have not ended. */
  open: number;
  askAt: number;
}

interface Started {
  readonly run: number;
  readonly mark: Mark;
}

/**
 * Remembers which runs this process has recorded as started, so that the records can be deleted once all their runs
 * have ended, by their key and without a look at the jobs: under a held snapshot a scan would cost more and more.
 *
 * A run that a handler ended in its own transaction is not seen here, nor one whose settlement's answer was lost. So
 * a mark that has grown old is looked up.
 */
export class StartMarks {
  readonly #database: Statements;
  readonly #marks: Map<string, Map<number, Mark>> = new Map();
  /** By job: a string made of id and run would cost more than the look itself. */
  readonly #started: Map<JobId, Started> = new Map();
  #seq = 0;

  /** Knows no marks yet. */
  constructor(database: Statements) {
    this.#database = database;
  }

  /** The number of the next mark. */
  nextSeq(): number {
    return ++this.#seq;
  }

  /**
   * Records runs as started. Idempotent.
   *
   * @throws {OffTheRecordError} the process is not on the record.
   */
  async start(owner: string, runs: readonly RunRef[]): Promise<void> {
    if (runs.length === 0) return;
    const seq = this.nextSeq();
    const alive = await this.#database.query(MARK, [owner, String(seq), ...refColumns(runs)]);
    if (alive.length === 0) throw new OffTheRecordError(owner);
    this.noteStarted(owner, seq, runs);
  }

  /** Remembers a mark that was written. */
  noteStarted(owner: string, seq: number, runs: readonly RunRef[]): void {
    if (runs.length === 0) return;
    const mark: Mark = { seq, open: runs.length, askAt: performance.now() + ASK_AFTER_MS };
    const marks = this.#marks.get(owner) ?? new Map<number, Mark>();
    this.#marks.set(owner, marks.set(seq, mark));
    for (const { id, run } of runs) {
      // An earlier run of the job whose end was not seen here is over.
      this.#end(id);
      this.#started.set(id, { run, mark });
    }
  }

  /** Notes that runs have ended. */
  noteEnded(runs: Iterable<RunRef>): void {
    for (const { id, run } of runs) if (this.#started.get(id)?.run === run) this.#end(id);
  }

  /** Deletes the records of this process all of whose runs have ended. */
  async clean(owner: string): Promise<void> {
    const marks = this.#marks.get(owner);
    if (marks === undefined) return;
    await this.#ask(owner, marks);
    const ended = [...marks.values()].filter((mark) => mark.open === 0).map((mark) => mark.seq);
    for (let from = 0; from < ended.length; from += DELETE_MAX) {
      const seqs = ended.slice(from, from + DELETE_MAX);
      await this.#database.query(DELETE, [owner, arrayLiteral(seqs)]);
      for (const seq of seqs) marks.delete(seq);
    }
  }

  /** Forgets a process that is off the record. */
  forget(owner: string): void {
    const marks = this.#marks.get(owner);
    if (marks === undefined) return;
    this.#marks.delete(owner);
    for (const [id, { mark }] of this.#started) if (marks.get(mark.seq) === mark) this.#started.delete(id);
  }

  #end(id: JobId): void {
    const started = this.#started.get(id);
    if (started === undefined) return;
    started.mark.open--;
    this.#started.delete(id);
  }

  async #ask(owner: string, marks: ReadonlyMap<number, Mark>): Promise<void> {
    const now = performance.now();
    const old = new Set(
      [...marks.values()].filter((mark) => mark.open > 0 && mark.askAt <= now).slice(
        0,
        ASK_MAX,
      ),
    );
    if (old.size === 0) return;
    const rows = await this.#database.query(STILL_RUNNING, [
      owner,
      arrayLiteral([...old].map((mark) => mark.seq)),
    ]);
    const running = new Map(rows.map((row) => [String(row.id), Number(row.run)]));
    for (const mark of old) mark.askAt = now + ASK_AFTER_MS;
    for (const [id, { run, mark }] of this.#started) {
      if (old.has(mark) && running.get(id) !== run) this.#end(id);
    }
  }
}
