/**
 * Functions run in the sessions of others, under whatever search_path those have: what somebody else may create there must not be
 * taken for PostgreSQL's own.
 */
export const PIN_SEARCH_PATH: string = `
alter function {schema}.enqueue(text, jsonb, timestamptz, boolean, text, int) set search_path = pg_catalog, pg_temp;
alter function {schema}.args_depth(jsonb) set search_path = pg_catalog, pg_temp;
alter function {schema}.record_periodic_run() set search_path = pg_catalog, pg_temp`;

/** Undoes it. */
export const UNPIN_SEARCH_PATH: string = `
alter function {schema}.record_periodic_run() reset search_path;
alter function {schema}.args_depth(jsonb) reset search_path;
alter function {schema}.enqueue(text, jsonb, timestamptz, boolean, text, int) reset search_path`;
