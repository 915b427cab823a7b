import { errorText } from "../../../ports/error_text.ts";
import { StatementTimeoutError } from "../../../ports/errors.ts";
import type { Log } from "../../../ports/log.ts";
import type { Purge } from "../../../ports/store.ts";
import { inHalves } from "../../../shared/in_halves.ts";
import { isOfTheMoment } from "../../../shared/outage.ts";
import { arrayLiteral, isoSql } from "../sql/sql_text.ts";
import type { Statements } from "../sql/statements.ts";
import { ScanPosition } from "./scan_position.ts";

/**
 * Retention has two ages, and an index for each. A place is a time and an id: many jobs may have ended at the same instant.
 */
const OLD = `
  select id, ${isoSql("finished_at")} as at, is_completed
  from (
    (
      select id, finished_at, true as is_completed
      from {schema}.job_history
      where state = 'completed'
        and (finished_at, id) > ($4::text::timestamptz, $5::text::bigint)
        and finished_at < statement_timestamp() - $1::float8 * interval '1 ms'
      order by finished_at, id
      limit $3::int
    )
    union all
    (
      select id, finished_at, false
      from {schema}.job_history
      where state <> 'completed'
        and (finished_at, id) > ($6::text::timestamptz, $7::text::bigint)
        and finished_at < statement_timestamp() - $2::float8 * interval '1 ms'
      order by finished_at, id
      limit $3::int
    )
  ) as old
  limit $3::int`;

/**
 * One that was brought back in line meanwhile, or has ended anew, stays. So does one whose unique key somebody holds: it is
 * waited for by nobody.
 */
const DELETE = `
  with old as materialized (
    select id, kind, unique_key
    from {schema}.job_history
    where id = any($3::text::bigint[])
      and finished_at < statement_timestamp()
        - case state when 'completed' then $1::float8 else $2::float8 end * interval '1 ms'
    order by id
    for update skip locked
  ), held as materialized (
    select job_key.kind, job_key.key, old.id
    from old
    join {schema}.job_key on job_key.kind = old.kind and job_key.key = old.unique_key and job_key.job_id = old.id
    where old.unique_key is not null
  ), released as (
    select job_key.kind, job_key.key, job_key.job_id
    from {schema}.job_key
    join held on held.kind = job_key.kind and held.key = job_key.key
    where job_key.job_id = held.id
    for update of job_key skip locked
  ), purged as (
    delete from {schema}.job_history
    using old
    where job_history.id = old.id
      and (old.id in (select job_id from released) or old.id not in (select id from held))
    returning job_history.id
  ), unprogressed as (
    delete from {schema}.job_progress
    using purged
    where job_progress.job_id = purged.id
  ), unkeyed as (
    delete from {schema}.job_key
    using released
    where job_key.kind = released.kind and job_key.key = released.key and job_key.job_id = released.job_id
  )
  select count(*)::int as purged from purged`;

/** The pauses before a job that can't be deleted is tried again, in ms. */
const ASIDE_MS_MIN = 60_000;
const ASIDE_MS_MAX = 60 * 60_000;

/** The most jobs that are remembered as such. */
const ASIDE_MAX = 10_000;

/** After so many refusals a purge ends with their fault. The next one goes on from there. */
const REFUSED_MAX = 100;

interface Aside {
  readonly untilMs: number;
  readonly pauseMs: number;
  readonly reason: string;
}

/** Deletes ended jobs whose retention is over, and remembers how far it has come. */
export class Purger {
  readonly #database: Statements;
  readonly #log: Log;
  /** Of the completed ones, and of the others. */
  readonly #position = new ScanPosition(2);
  readonly #aside = new Map<string, Aside>();
  /** What was found since the last look that can't be deleted. */
  #fault: string | null = null;
  /** How many were refused since the fault was last told of. */
  #refused = 0;

  /** On this database. */
  constructor(database: Statements, log: Log) {
    this.#database = database;
    this.#log = log;
  }

  /**
   * Deletes some of the ended jobs that are older than their retention, with their unique keys: at most `limit`, and none only
   * when no more can be deleted.
   *
   * @throws nothing is left to delete but what can't be, or many were refused.
   */
  async purge(request: Purge): Promise<number> {
    for (;;) {
      const { done, isAll } = await this.#step(request);
      if (this.#refused < REFUSED_MAX) {
        if (done > 0) return done;
        if (!isAll) continue;
      }
      this.#refused = 0;
      if (this.#fault === null) return 0;
      throw new Error(`Ended jobs can't be deleted, ${this.#fault}`);
    }
  }

  async #step({ completedMs, othersMs, limit }: Purge): Promise<{ done: number; isAll: boolean }> {
    const scan = this.#position.begin();
    const from = scan.from.flatMap((place) => (place ?? "-infinity 0").split(" "));
    const rows = await this.#database.query(OLD, [completedMs, othersMs, limit, ...from]);
    const now = performance.now();
    if (scan.isLook) this.#fault = null;
    const ids: string[] = [];
    for (const id of rows.map((row) => String(row.id))) {
      const aside = this.#aside.get(id);
      if (aside === undefined || aside.untilMs <= now) ids.push(id);
      else this.#note(id, aside.reason);
    }
    const done = await this.#delete(ids, async (part) => {
      const [row] = await this.#database.query(DELETE, [completedMs, othersMs, arrayLiteral(part)]);
      return Number(row?.purged);
    }, now);
    const isAll = rows.length < limit;
    scan.end(
      [true, false].map((isCompleted) => {
        const last = rows.findLast((row) => row.is_completed === isCompleted);
        // As wide as any id, so that places compare as texts.
        return last === undefined ? null : `${last.at} ${String(last.id).padStart(19, "0")}`;
      }),
      isAll,
    );
    return { done, isAll };
  }

  async #delete(
    ids: readonly string[],
    work: (ids: readonly string[]) => Promise<number>,
    now: number,
  ): Promise<number> {
    const failed = new Map<string, unknown>();
    let left = ids;
    let done = 0;
    while (left.length > 0) {
      try {
        const { done: some, refused } = await inHalves(left, (part) =>
          work(part).catch((error) => {
            if (part.length === 1) failed.set(part[0]!, error);
            throw error;
          }));
        done = some;
        const names = new Map(refused.map(({ item, error }) => [item, error]));
        for (const id of left) this.#setAside(id, names.get(id), now);
        for (const id of left) failed.delete(id);
        this.#refused += names.size;
        break;
      } catch (error) {
        if (isOfTheMoment(error)) throw error;
        left = left.filter((id) => !failed.has(id));
        // Those behind are tried as well, unless all are slow.
        if (error instanceof StatementTimeoutError) break;
      }
    }
    this.#refused += failed.size;
    for (const [id, error] of failed) {
      // Where all are refused none is to blame: they are tried again with the next look.
      if (done > 0) this.#setAside(id, error, now);
      else this.#note(id, errorText(error));
    }
    return done;
  }

  #note(id: string, reason: string): void {
    this.#fault ??= `job ${id} among them: ${reason}`;
  }

  #setAside(id: string, error: unknown, now: number): void {
    const before = this.#aside.get(id);
    if (error === undefined) {
      if (before !== undefined) this.#aside.delete(id);
      return;
    }
    const pauseMs = Math.min((before?.pauseMs ?? ASIDE_MS_MIN / 2) * 2, ASIDE_MS_MAX);
    if (this.#aside.size >= ASIDE_MAX) this.#aside.clear();
    const reason = errorText(error);
    this.#note(id, reason);
    this.#aside.set(id, { pauseMs, untilMs: now + pauseMs, reason });
    this.#log.error("an ended job can't be deleted: the others are, it is tried again later", {
      jobId: id,
      inMs: pauseMs,
      error: reason,
    });
  }
}
