import type postgres from "postgres";
import type { Change, EventRow, JobRow } from "./check/evidence.ts";
import { PLANTED } from "./faults/database.ts";
import { ORDINARY } from "./kinds.ts";

/** The run's own tables. */
const CREATE = `
  create table {schema}.chaos_order (tag text primary key);
  create table {schema}.chaos_fact (tag text primary key);
  create table {schema}.chaos_change (number bigserial primary key, kind text not null, thing text not null);
  create index chaos_change_of_thing on {schema}.chaos_change (thing);
  create table {schema}.chaos_effect (job_id bigint not null, execution text not null)`;

const JOBS = `
  select
    id::text, kind, state, attempt, max_attempts, run, snoozes, args ->> 'tag' as tag, args ->> 'event_id' as event,
    args ->> 'thing' as thing,
    encode(unique_key, 'hex') as key,
    coalesce(errors, '[]')::text as errors, output ->> 'execution' as output,
    extract(epoch from scheduled_at) * 1000 as scheduled_at,
    extract(epoch from enqueued_at) * 1000 as enqueued_at, extract(epoch from finished_at) * 1000 as finished_at
  from (
    select id, kind, state, attempt, max_attempts, run, snoozes, args, unique_key, errors, null::jsonb as output,
      scheduled_at, enqueued_at, null::timestamptz as finished_at
    from {schema}.job
    union all
    select id, kind, state, attempt, max_attempts, run, snoozes, args, unique_key, errors, output,
      scheduled_at, enqueued_at, finished_at
    from {schema}.job_history
  ) as every
  where kind <> '${PLANTED}'
  order by id`;

/** One statement sees one snapshot, so whatever two jobs it sees hold a key at the same time. */
const SHARED_KEYS = `
  select kind || ' ' || args::text as key, array_agg(id)::text as ids
  from (
    select id, kind, args, unique_key from {schema}.job
    union all
    select id, kind, args, unique_key from {schema}.job_history where state = 'completed'
  ) as holders
  where unique_key is not null
  group by kind, args
  having count(*) > 1`;

/** The same of jobs that follow a thing: of those one waits, and another one may run. */
const TWO_WAIT = `
  select kind || ' ' || (args ->> 'thing') as key, array_agg(id)::text as ids
  from {schema}.job
  where args ? 'thing' and state in ('pending', 'retryable')
  group by kind, args ->> 'thing'
  having count(*) > 1`;

const LEFT = `
  select (
    (select count(*) from {schema}.job where not starts_with(kind, 'periodic:') and kind <> '${ORDINARY}')
    + (select count(*) from {schema}.outbox where fanned_out_at is null and poisoned_at is null)
  )::int as left`;

/**
 * An ordered endpoint's line is worked through by whichever job has its turn; the others come back up to 75 s later and
 * find that theirs is delivered.
 */
const DONE_BY_OTHERS = `
  select count(*)::int as done
  from {schema}.webhook_delivery
  join {schema}.job on job.id = job_id::bigint
  where webhook_delivery.state <> 'waiting'`;

const EVENTS = `
  select
    id::text, seq::text, type, subject, data ->> 'tag' as tag, fanout::text as fanout, last_error,
    extract(epoch from occurred_at)::float8 * 1000 as occurred_at
  from {schema}.outbox
  order by seq`;

/** What a run reads of its database. */
export class Tables {
  readonly #sql: postgres.Sql;
  readonly #schema: string;

  constructor(sql: postgres.Sql, schema: string) {
    this.#sql = sql;
    this.#schema = schema;
  }

  /** Makes the run's own tables. */
  async create(): Promise<void> {
    await this.#query(CREATE);
  }

  /** Every job. */
  async jobs(): Promise<JobRow[]> {
    const rows = await this.#query(JOBS);
    return rows.map((row) => ({
      id: row.id,
      kind: row.kind,
      state: row.state,
      attempt: row.attempt,
      maxAttempts: row.max_attempts,
      run: row.run,
      snoozes: row.snoozes,
      tag: row.tag,
      key: row.key,
      thing: row.thing,
      event: row.event,
      errors: JSON.parse(row.errors),
      output: row.output,
      scheduledAt: Number(row.scheduled_at),
      enqueuedAt: Number(row.enqueued_at),
      finishedAt: row.finished_at === null ? null : Number(row.finished_at),
    }));
  }

  /** What handlers wrote with their completions. */
  async effects(): Promise<{ jobId: string; execution: string }[]> {
    const rows = await this.#query(`select job_id::text, execution from {schema}.chaos_effect`);
    return rows.map((row) => ({ jobId: row.job_id, execution: row.execution }));
  }

  /** The changes that were committed. */
  async changes(): Promise<Change[]> {
    const rows = await this.#query(`select number::text, kind, thing from {schema}.chaos_change`);
    return rows.map((row) => ({ number: Number(row.number), kind: row.kind, thing: row.thing }));
  }

  /** The tags of the orders. */
  async orders(): Promise<string[]> {
    return (await this.#query(`select tag from {schema}.chaos_order`)).map((row) => row.tag);
  }

  /** Every event. */
  async events(): Promise<EventRow[]> {
    return (await this.#query(EVENTS)).map((row) => ({
      id: row.id,
      seq: Number(row.seq),
      type: row.type,
      subject: row.subject,
      tag: row.tag,
      fanout: row.fanout === null ? null : JSON.parse(row.fanout),
      lastError: row.last_error,
      occurredAt: Number(row.occurred_at),
    }));
  }

  /** The tags of the facts. */
  async facts(): Promise<string[]> {
    return (await this.#query(`select tag from {schema}.chaos_fact`)).map((row) => row.tag);
  }

  /** Unique keys that two jobs hold now. */
  async sharedKeys(): Promise<string[]> {
    const rows = [...await this.#query(SHARED_KEYS), ...await this.#query(TWO_WAIT)];
    return rows.map((row) => `jobs ${row.ids} share the key ${row.key}`);
  }

  /** How many jobs, those of fan-outs and deliveries among them, have not ended, beside the periodics'. */
  async left(): Promise<number> {
    return (await this.#query(LEFT))[0]!.left;
  }

  /** The same without the jobs that have nothing to do any more but to end. */
  async undone(): Promise<number> {
    const [row] = await this.#query(DONE_BY_OTHERS);
    return Math.max(0, await this.left() - row!.done);
  }

  /** After all workers have stopped: what still counts as running, and who is still on the record. */
  async leftovers(): Promise<{ running: number; workers: number; marks: number }> {
    const [row] = await this.#query(`
      select
        (select count(*)::int from {schema}.job where state = 'running') as running,
        (select count(*)::int from {schema}.worker) as workers,
        (select count(*)::int from {schema}.start_mark) as marks`);
    return { running: row!.running, workers: row!.workers, marks: row!.marks };
  }

  /** How many connections there are beside the run's own. */
  async connections(): Promise<number> {
    const [row] = await this.#query(`
      select count(*)::int as count from pg_stat_activity where application_name = 'millrace'`);
    return row!.count;
  }

  async #query(text: string): Promise<postgres.RowList<postgres.Row[]>> {
    return await this.#sql.unsafe(text.replaceAll("{schema}", this.#schema));
  }
}
