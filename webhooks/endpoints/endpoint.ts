import type { JobId } from "../../ports/job.ts";

/** Where somebody wants to be told of events. */
export interface Endpoint {
  /** Its id, a UUID. */
  readonly id: string;
  /** Where to. */
  readonly url: string;
  /** For people. */
  readonly description: string;
  /** Gets the events of this owner only; null for everybody's. */
  readonly ownerId: string | null;
  /** Globs of event types. */
  readonly eventTypes: readonly string[];
  /** How it is signed: `v1` (HMAC, a shared secret) or `v1a` (ed25519, a public key). */
  readonly signature: "v1" | "v1a";
  /** What verifies `v1a`; null for `v1`. No secret. */
  readonly publicKey: string | null;
  /** Whether events come one after the other, in the order in which they were recorded. */
  readonly ordered: boolean;
  /** Whether anything is sent. */
  readonly enabled: boolean;
  /** Why it was disabled; null while it is enabled. */
  readonly disabledReason: string | null;
  /** Since when nothing but failures came back, ISO 8601; null when the last delivery went well. */
  readonly failingSince: string | null;
  /** Whether all of its deliveries wait until it works again, and not only those that have failed. */
  readonly paused: boolean;
  /** When a failing one is tried next, ISO 8601; null when it does not fail. */
  readonly nextProbeAt: string | null;
  /** Until when the old secret signs too, ISO 8601; null when there is none. */
  readonly rotationEndsAt: string | null;
  /** When it was made, ISO 8601. */
  readonly createdAt: string;
}

/** What an endpoint is made of. */
export interface EndpointDraft {
  /** An https URL to the public Internet, unless the egress options say more. */
  readonly url: string;
  /** Globs of event types, each matching at least one that is exposed to webhooks. */
  readonly eventTypes: readonly string[];
  /** For people, at most 500 characters. Default empty. */
  readonly description?: string;
  /** Only events of this owner, a text of 1 to 500 characters; null for everybody's. It can't be changed later. */
  readonly ownerId: string | null;
  /** How it is signed. Default `v1`. */
  readonly signature?: "v1" | "v1a";
  /** One after the other, in the order of the events, at the price of waiting behind a failure. Default false. */
  readonly ordered?: boolean;
}

/** What an endpoint of {@linkcode OwnerWebhooks} is made of: the owner is given already. */
export type OwnedEndpointDraft = Omit<EndpointDraft, "ownerId">;

/** What can be changed of an endpoint. What is not named stays. */
export interface EndpointChanges {
  /** As in {@linkcode EndpointDraft}. */
  readonly url?: string;
  /** As in {@linkcode EndpointDraft}. */
  readonly eventTypes?: readonly string[];
  /** As in {@linkcode EndpointDraft}. */
  readonly description?: string;
  /** As in {@linkcode EndpointDraft}. */
  readonly ordered?: boolean;
  /** False: what waits is discarded and new events pass it by. True: its failures are forgotten. */
  readonly enabled?: boolean;
}

/** An endpoint with what its receiver needs to verify. */
export interface EndpointSecret {
  /** The endpoint. */
  readonly endpoint: Endpoint;
  /** `whsec_` for `v1`: shown this once and never again. `whpk_` for `v1a`: a public key. */
  readonly secret: string;
}

/** One attempt of a delivery. */
export interface DeliveryAttempt {
  /** Which try it was. One that spent none has the number of the next one too: it was put off, or came before its time. */
  readonly attempt: number;
  /** When it ended, ISO 8601. */
  readonly at: string;
  /** The answer's status; null without one. */
  readonly status: number | null;
  /** How long it took, in ms. */
  readonly durationMs: number;
  /** The first part of the answer; null without one. */
  readonly answer: string | null;
  /** What went wrong; null when nothing did. */
  readonly error: string | null;
}

/** One event on its way to one endpoint. */
export interface Delivery {
  /** Its id; newer ones are larger. */
  readonly id: string;
  /** Where to. */
  readonly endpointId: string;
  /** The event's id, or a test's. */
  readonly eventId: string;
  /** The event's type. */
  readonly eventType: string;
  /** Where it is. */
  readonly state: "waiting" | "delivered" | "discarded";
  /** Why it was discarded; null when it was not. */
  readonly reason: string | null;
  /** Its job. */
  readonly jobId: JobId;
  /** How many attempts were made and counted. */
  readonly attempts: number;
  /** The first attempt and the newest 19. */
  readonly log: readonly DeliveryAttempt[];
  /** The replay that it belongs to, `test` for a test; null for the delivery of the fan-out. */
  readonly replay: string | null;
  /** When it was made, ISO 8601. */
  readonly createdAt: string;
  /** When it ended, ISO 8601; null while it waits. */
  readonly endedAt: string | null;
}

/** Which deliveries a list holds. */
export interface DeliveryFilter {
  /** Of this endpoint. */
  readonly endpointId: string;
  /** In this state. */
  readonly state?: Delivery["state"];
  /** Older than this delivery, for the next page. */
  readonly before?: string;
  /** At most this many, 1 to 1,000. Default 50. */
  readonly limit?: number;
}

/** What a replay sends. */
export interface ReplayRequest {
  /** Events that were recorded at or after this instant, of the years 1 to 9999. */
  readonly since: Date;
  /** And before this one. Default now. */
  readonly until?: Date;
  /** At most this many, 1 to 100,000. Default 10,000. */
  readonly limit?: number;
}

/** How a secret is replaced. */
export interface SecretRotation {
  /** How long the old secret signs as well, in ms, at most 30 days. Default 24 h; 0 for a secret that leaked. */
  readonly overlapMs?: number;
  /** The sort of the new one. Default that of the old one. */
  readonly signature?: "v1" | "v1a";
}

/** A message of type `webhook.test` that was put in line. */
export interface TestSent {
  /** Its job, for `wait`. */
  readonly jobId: JobId;
  /** What the receiver gets as its `webhook-id`. */
  readonly eventId: string;
}

/** A replay that was put in line. */
export interface ReplayStarted {
  /** Its id, which its deliveries carry. */
  readonly replayId: string;
  /** Its job, which tells its progress. */
  readonly jobId: JobId;
}

const ID_SHOWN_MAX = 100;

/** There is no endpoint of this id. */
export class EndpointNotFoundError extends Error {
  /** The name of the class. */
  override readonly name = "EndpointNotFoundError";
  /** The id that was asked for. */
  readonly endpointId: string;

  /** Names the id. */
  constructor(endpointId: string) {
    super(`There is no webhook endpoint ${JSON.stringify(endpointId.slice(0, ID_SHOWN_MAX))}`);
    this.endpointId = endpointId;
  }
}

/** There is no delivery of this id, to this endpoint or of this owner; retention may have deleted it. */
export class DeliveryNotFoundError extends Error {
  /** The name of the class. */
  override readonly name = "DeliveryNotFoundError";
  /** The id that was asked for. */
  readonly deliveryId: string;

  /** Names the id. */
  constructor(deliveryId: string) {
    super(`There is no webhook delivery ${deliveryId} here: it never was, or retention has deleted it`);
    this.deliveryId = deliveryId;
  }
}

/** A delivery was made already, and can't be skipped. */
export class DeliveryMadeError extends Error {
  /** The name of the class. */
  override readonly name = "DeliveryMadeError";
  /** The delivery. */
  readonly deliveryId: string;

  /** Names the delivery. */
  constructor(deliveryId: string) {
    super(`Cannot skip webhook delivery ${deliveryId}: it was delivered`);
    this.deliveryId = deliveryId;
  }
}

/** Another session holds the record of a delivery. Nothing was changed; try again. */
export class DeliveryHeldError extends Error {
  /** The name of the class. */
  override readonly name = "DeliveryHeldError";
  /** The delivery. */
  readonly deliveryId: string;

  /** Names the delivery. */
  constructor(deliveryId: string) {
    super(`Cannot change webhook delivery ${deliveryId}: another session holds its record`);
    this.deliveryId = deliveryId;
  }
}

/** An endpoint can't be as it was asked for. Nothing was changed. */
export class InvalidEndpointError extends TypeError {
  /** The name of the class. */
  override readonly name = "InvalidEndpointError";
  /** Which part of it. */
  readonly field: string;

  /** Names the part, what was given and what was expected. */
  constructor(field: string, message: string) {
    super(`Cannot use this ${field} for a webhook endpoint: ${message}`);
    this.field = field;
  }
}

/** An endpoint is disabled, and nothing is sent to it. */
export class EndpointDisabledError extends Error {
  /** The name of the class. */
  override readonly name = "EndpointDisabledError";
  /** The endpoint. */
  readonly endpointId: string;

  /** Names the endpoint, the reason and the remedy. */
  constructor(endpointId: string, reason: string) {
    super(`Cannot send to webhook endpoint ${endpointId}: it is disabled (${reason}). Enable it first`);
    this.endpointId = endpointId;
  }
}
