import type { TxRow } from "../../ports/tx.ts";
import type { Delivery, Endpoint } from "./endpoint.ts";

const ISO = `'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'`;

/** What is read of an endpoint. No secret, sealed or not, is among it. */
export const ENDPOINT_COLUMNS: string = `
    id::text, url, description, owner_id, event_types::text, signature, public_key, ordered, enabled, disabled_reason, paused,
    to_char(failing_since at time zone 'UTC', ${ISO}) as failing_since,
    to_char(next_probe_at at time zone 'UTC', ${ISO}) as next_probe_at,
    to_char(created_at at time zone 'UTC', ${ISO}) as created_at,
    (
      select to_char(max((secret->>'expires_at')::timestamptz) at time zone 'UTC', ${ISO})
      from jsonb_array_elements(secrets) as secret
      where (secret->>'expires_at')::timestamptz > clock_timestamp()
    ) as rotation_ends_at`;

/** An endpoint from its row. */
export function endpointOf(row: TxRow): Endpoint {
  return {
    id: String(row.id),
    url: String(row.url),
    description: String(row.description),
    ownerId: text(row.owner_id),
    eventTypes: JSON.parse(String(row.event_types)),
    signature: row.signature as Endpoint["signature"],
    publicKey: text(row.public_key),
    ordered: row.ordered === true,
    enabled: row.enabled === true,
    disabledReason: text(row.disabled_reason),
    failingSince: text(row.failing_since),
    paused: row.paused === true,
    nextProbeAt: text(row.next_probe_at),
    rotationEndsAt: text(row.rotation_ends_at),
    createdAt: String(row.created_at),
  };
}

/** What is read of a delivery and its message. */
export const DELIVERY_COLUMNS: string = `
    delivery.seq::text, delivery.endpoint_id::text, delivery.message_id::text, message.type, delivery.state,
    delivery.reason, delivery.job_id, delivery.attempts, delivery.log::text, delivery.replay,
    to_char(delivery.created_at at time zone 'UTC', ${ISO}) as created_at,
    to_char(delivery.ended_at at time zone 'UTC', ${ISO}) as ended_at`;

/** A delivery from its row. */
export function deliveryOf(row: TxRow): Delivery {
  return {
    id: String(row.seq),
    endpointId: String(row.endpoint_id),
    eventId: String(row.message_id),
    eventType: String(row.type),
    state: row.state as Delivery["state"],
    reason: text(row.reason),
    jobId: String(row.job_id),
    attempts: Number(row.attempts),
    log: JSON.parse(String(row.log)),
    replay: row.replay === "" ? null : String(row.replay),
    createdAt: String(row.created_at),
    endedAt: text(row.ended_at),
  };
}

function text(value: unknown): string | null {
  return value === null || value === undefined ? null : String(value);
}
