import type { Transaction } from "../../ports/database.ts";

/** The event type of what `sendTest` sends. */
export const TEST_TYPE = "webhook.test";

/** What stands for the replay of a test. */
export const TEST_REPLAY = "test";

const INSERT = `
  with given as (select gen_random_uuid() as id)
  insert into {schema}.webhook_message (id, type, body)
  select
    id, $1::text,
    '{"id":' || to_json(id::text) || ',"type":' || to_json($1::text) || ',"subject":' || to_json($2::text)
      || ',"occurred_at":'
      || to_json(to_char(clock_timestamp() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'))
      || ',"data":{"message":"A test of this endpoint. Nothing has happened."}}'
  from given
  returning id::text`;

/** Writes a message that tells of nothing; resolves to its id. */
export async function insertTestMessage(tx: Transaction, endpointId: string): Promise<string> {
  const [row] = await tx.unsafe(INSERT, [TEST_TYPE, endpointId]);
  return String(row!.id);
}
