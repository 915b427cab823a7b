import { recordRun } from "./periodic_runs.ts";

/**
 * Periodics as rows: what a tick enqueues and when the next one comes, so that those that are due are found by an index, and
 * any process can tick what another one declared. A row without a kind is one of a program that did not store that.
 *
 * A run of a periodic says so itself, for its kind may be any. Programs from before this step know it by its kind alone.
 */
export const PERIODIC_ROWS: string = `
alter table {schema}.job add column periodic text;
alter table {schema}.job_history add column periodic text;
alter table {schema}.worker add column periodics jsonb;

alter table {schema}.periodic
  add column source text,
  add column kind text,
  add column queue text,
  add column priority smallint,
  add column max_attempts int,
  add column args jsonb,
  add column every_ms bigint,
  add column cron text,
  add column timezone text,
  add column declared_at timestamptz,
  add column undeclared_at timestamptz,
  add column paused_at timestamptz,
  -- Whole ms, as the runtime reckons: the end of a batch is a place in the order of them.
  add column next_tick timestamptz(3);

create index periodic_due on {schema}.periodic (next_tick, name) where next_tick is not null;

${recordRun("coalesce(new.periodic, substr(new.kind, length('periodic:') + 1))")};

drop trigger periodic_run on {schema}.job_history;
create trigger periodic_run after insert on {schema}.job_history
  for each row when (new.periodic is not null or starts_with(new.kind, 'periodic:'))
  execute function {schema}.record_periodic_run()`;

/** Undoes it. Runs of ordinary kinds become ordinary jobs. */
export const UNDO_PERIODIC_ROWS: string = `
drop trigger periodic_run on {schema}.job_history;
create trigger periodic_run after insert on {schema}.job_history
  for each row when (starts_with(new.kind, 'periodic:'))
  execute function {schema}.record_periodic_run();

${recordRun("substr(new.kind, length('periodic:') + 1)")};

drop index {schema}.periodic_due;

alter table {schema}.periodic
  drop column source, drop column kind, drop column queue, drop column priority, drop column max_attempts,
  drop column args, drop column every_ms, drop column cron, drop column timezone, drop column declared_at,
  drop column undeclared_at, drop column paused_at, drop column next_tick;

alter table {schema}.worker drop column periodics;
alter table {schema}.job drop column periodic;
alter table {schema}.job_history drop column periodic`;
