import type { Database } from "../../ports/database.ts";
import { DeliveryHeldError, DeliveryMadeError, DeliveryNotFoundError } from "../endpoints/endpoint.ts";

/** The next of a line need not wait for the pause that the first one made. */
const SKIP = `
  with chosen as (
    select delivery.seq, delivery.endpoint_id, delivery.state
    from {schema}.webhook_delivery as delivery
    join {schema}.webhook_endpoint as endpoint on endpoint.id = delivery.endpoint_id
    where delivery.seq = $1::text::bigint
      and delivery.state <> 'delivered'
      and ($2::text is null or endpoint.owner_id = $2::text)
    for no key update of delivery skip locked
  ), freed as (
    update {schema}.webhook_endpoint as endpoint
    set next_probe_at = null
    from chosen
    where endpoint.id = chosen.endpoint_id and chosen.state = 'waiting' and endpoint.ordered
  )
  update {schema}.webhook_delivery as delivery
  set
    state = 'discarded',
    reason = case when chosen.state = 'waiting' then 'skipped by hand' else delivery.reason end,
    due_at = null, wait_cause = null, given_up = false,
    ended_at = coalesce(delivery.ended_at, clock_timestamp())
  from chosen
  where delivery.seq = chosen.seq
  returning delivery.endpoint_id::text`;

const STATE = `
  select delivery.state
  from {schema}.webhook_delivery as delivery
  join {schema}.webhook_endpoint as endpoint on endpoint.id = delivery.endpoint_id
  where delivery.seq = $1::text::bigint and ($2::text is null or endpoint.owner_id = $2::text)`;

/**
 * Discards a delivery by hand, or takes one off the alerts that was given up. Resolves to its endpoint. `ownerId` is whose it
 * must be; null for anybody's.
 *
 * @throws {DeliveryNotFoundError} there is none.
 * @throws {DeliveryMadeError} it was delivered.
 * @throws {DeliveryHeldError} another session holds its record.
 */
export async function skip(database: Database, deliveryId: string, ownerId: string | null): Promise<string> {
  const [row] = await database.query(SKIP, [deliveryId, ownerId]);
  if (row !== undefined) return String(row.endpoint_id);
  const [found] = await database.query(STATE, [deliveryId, ownerId]);
  if (found === undefined) throw new DeliveryNotFoundError(deliveryId);
  if (found.state === "delivered") throw new DeliveryMadeError(deliveryId);
  throw new DeliveryHeldError(deliveryId);
}
