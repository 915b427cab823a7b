import type { Completion } from "../../../ports/store.ts";
import type { PostgresDatabase } from "../connection/database.ts";
import { endJobs } from "../jobs/history.ts";

/** A cancel that was asked for first wins: then there is no row, and the handler rolls back. */
const COMPLETE = `
  with ended as (
    delete from {schema}.job
    where id = $1::text::bigint and run = $2::int and state = 'running' and not cancel_requested
    returning *, 'completed' as final, $3::text::jsonb as output, errors as final_errors
  ), ${endJobs("ended")}
  select id from written`;

/** A statement by itself has one of its own, so what runs outside of any transaction never has the name of one before. */
const TRANSACTION = "select pg_current_xact_id()::text as id";

/** The statements with which a handler's own transaction completes its job. */
export function completionOf(database: PostgresDatabase): Completion {
  return { text: database.statement(COMPLETE), transaction: TRANSACTION };
}
