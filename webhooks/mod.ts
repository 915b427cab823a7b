/**
 * Outgoing webhooks: events, signed by the Standard Webhooks specification, delivered to the endpoints of others, retried,
 * and kept away from one's own network. {@linkcode Webhooks} is a registrar and the operations on endpoints; the
 * receiver's side is `@millrace/millrace/webhooks/verify`.
 *
 * @module
 */
export { SecretKeyError } from "./endpoints/key_ring.ts";
export {
  type Delivery,
  type DeliveryAttempt,
  type DeliveryFilter,
  DeliveryHeldError,
  DeliveryMadeError,
  DeliveryNotFoundError,
  type Endpoint,
  type EndpointChanges,
  EndpointDisabledError,
  type EndpointDraft,
  EndpointNotFoundError,
  type EndpointSecret,
  InvalidEndpointError,
  type OwnedEndpointDraft,
  type ReplayRequest,
  type ReplayStarted,
  type SecretRotation,
  type TestSent,
} from "./endpoints/endpoint.ts";
export type { EgressOptions } from "./sender/guard.ts";
export type { OwnerWebhooks } from "./endpoints/owner_webhooks.ts";
export { WEBHOOKS } from "./schema.ts";
export type { WebhookSettings } from "./settings.ts";
export { Webhooks, type WebhooksOptions } from "./webhooks.ts";
