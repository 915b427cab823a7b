import { grantAsOn } from "./grants.ts";

/** The record of upkeep. */
export const CREATE_UPKEEP: string = `
-- How the work beside the jobs goes: one row per task, or per task and process where every process does it for itself
-- (its owner is empty otherwise).
create table {schema}.upkeep (
  task text not null,
  owner text not null,
  last_success_at timestamptz,
  last_error_at timestamptz,
  last_error text,
  last_error_in text,
  failing_since timestamptz,
  failures_in_a_row int not null default 0,
  renewed_at timestamptz not null default clock_timestamp(),
  primary key (task, owner)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500);
${grantAsOn("upkeep", ["worker", "leader"])}`;

/** Undoes it. */
export const DROP_UPKEEP = "drop table {schema}.upkeep";
