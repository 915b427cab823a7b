import type postgres from "postgres";
import type { DeliveryRow, GivenUpRow, ReplayRow } from "./check/evidence.ts";

/** An endpoint's description is the name that the run gave it. Both times are the same moment but for a person's hand. */
const DELIVERIES = `
  select
    endpoint.description as endpoint, message_id::text as event, replay, seq::text, state, reason,
    queued_at > delivery.created_at + interval '50 ms' as was_redelivered
  from {schema}.webhook_delivery as delivery
  join {schema}.webhook_endpoint as endpoint on endpoint.id = delivery.endpoint_id
  order by seq`;

const GIVEN_UP = `
  select
    endpoint.description as endpoint, message_id::text as event, job_id, reason, given_up,
    extract(epoch from queued_at) * 1000 as queued_at, extract(epoch from ended_at) * 1000 as ended_at
  from {schema}.webhook_delivery as delivery
  join {schema}.webhook_endpoint as endpoint on endpoint.id = delivery.endpoint_id
  where delivery.state = 'discarded'
    or (delivery.state = 'waiting' and not exists (select from {schema}.job where id = job_id::bigint))
  order by seq`;

const REPLAYS = `
  select id::text as job, (output ->> 'queued')::int as queued, (
    select count(*)::int from {schema}.webhook_delivery where replay = args ->> 'replay_id'
  ) as deliveries
  from {schema}.job_history
  where kind = 'webhook.replay' and state = 'completed'`;

/** Events that were fanned out and have no delivery to an endpoint. */
const PASSED_BY = `
  select endpoint.id::text as endpoint, extract(epoch from occurred_at) * 1000 as occurred_at
  from {schema}.outbox as event
  cross join {schema}.webhook_endpoint as endpoint
  where event.type in (select json_array_elements_text($1::text::json))
    and not exists (
      select from {schema}.webhook_delivery
      where endpoint_id = endpoint.id and message_id = event.id
    )
  order by endpoint.id, occurred_at`;

/** What a run reads of its webhooks. */
export class WebhookTables {
  readonly #sql: postgres.Sql;
  readonly #schema: string;

  constructor(sql: postgres.Sql, schema: string) {
    this.#sql = sql;
    this.#schema = schema;
  }

  /** Every delivery. */
  async deliveries(): Promise<DeliveryRow[]> {
    return (await this.#query(DELIVERIES)).map((row) => ({
      endpoint: row.endpoint,
      event: row.event,
      replay: row.replay,
      seq: Number(row.seq),
      state: row.state,
      reason: row.reason,
      wasRedelivered: row.was_redelivered,
    }));
  }

  /** Those that nobody would make any more. */
  async givenUp(): Promise<GivenUpRow[]> {
    return (await this.#query(GIVEN_UP)).map((row) => ({
      endpoint: row.endpoint,
      event: row.event,
      job: row.job_id,
      reason: row.reason,
      isAlert: row.given_up,
      queuedAt: Number(row.queued_at),
      endedAt: row.ended_at === null ? null : Number(row.ended_at),
    }));
  }

  /** Every replay that has completed. */
  async replays(): Promise<ReplayRow[]> {
    return (await this.#query(REPLAYS)).map(({ job, queued, deliveries }) => ({ job, queued, deliveries }));
  }

  /** When the events of these types were recorded that an endpoint has no delivery of, ms since the epoch, by endpoint. */
  async passedBy(types: readonly string[]): Promise<Map<string, number[]>> {
    const rows = await this.#query(PASSED_BY, [JSON.stringify(types)]);
    const times = new Map<string, number[]>();
    for (const { endpoint, occurred_at: at } of rows) {
      times.set(endpoint, [...times.get(endpoint) ?? [], Number(at)]);
    }
    return times;
  }

  async #query(text: string, params: string[] = []): Promise<postgres.RowList<postgres.Row[]>> {
    return await this.#sql.unsafe(text.replaceAll("{schema}", this.#schema), params);
  }
}
