import { InvalidOptionError } from "../../ports/errors.ts";
import type { EventType } from "../../ports/event.ts";
import type { Json } from "../../ports/json.ts";
import type { Parts } from "../../ports/registrar.ts";
import { instantText } from "../../shared/instant.ts";
import { integer, type Options, resolveOptions, UNCHECKED } from "../../shared/options.ts";
import { bringForwardTwice } from "../deliveries/bring_forward.ts";
import { Deliveries } from "../deliveries/delivery.ts";
import { queueDeliveries } from "../deliveries/queue_deliveries.ts";
import { redeliver } from "../deliveries/redeliver.ts";
import { REPLAY_KIND } from "../deliveries/replay.ts";
import { skip } from "../deliveries/skip.ts";
import { insertTestMessage, TEST_REPLAY } from "../deliveries/test_message.ts";
import {
  type Delivery,
  type DeliveryFilter,
  type Endpoint,
  type EndpointChanges,
  EndpointDisabledError,
  type EndpointDraft,
  type EndpointSecret,
  type OwnedEndpointDraft,
  type ReplayRequest,
  type ReplayStarted,
  type SecretRotation,
  type TestSent,
} from "./endpoint.ts";
import { checkDeliveryId, type Endpoints } from "./endpoints.ts";
import type { OwnerWebhooks } from "./owner_webhooks.ts";

const REPLAY: Options<ReplayRequest> = {
  since: UNCHECKED,
  until: UNCHECKED,
  limit: integer({ min: 1, max: 100_000, default: 10_000 }),
};
/** So many jobs come when the line of an endpoint goes on. */
const SKIPPED_TO = 8;

/** The operations on endpoints: on those of one owner, or on all. Each looks an endpoint up through what it may see. */
export class Operations {
  readonly #parts: Parts;
  readonly #endpoints: Endpoints;

  /** On what `endpoints` sees. */
  constructor(parts: Parts, endpoints: Endpoints) {
    this.#parts = parts;
    this.#endpoints = endpoints;
  }

  /** The same for one owner. */
  of(ownerId: string): OwnerWebhooks {
    return new OwnerOperations(ownerId, this.#parts, this.#endpoints.of(ownerId));
  }

  list(): Promise<Endpoint[]> {
    return this.#endpoints.list();
  }

  get(id: string): Promise<Endpoint> {
    return this.#endpoints.get(id);
  }

  create(draft: EndpointDraft | OwnedEndpointDraft): Promise<EndpointSecret> {
    return this.#endpoints.create(draft);
  }

  async update(id: string, changes: EndpointChanges): Promise<Endpoint> {
    const endpoint = await this.#endpoints.update(id, changes);
    // It starts afresh: what waits for its next try need not.
    if (changes.enabled === true || changes.url !== undefined) await this.#bringForward(id);
    return endpoint;
  }

  delete(id: string): Promise<void> {
    return this.#endpoints.delete(id);
  }

  async rotateSecret(id: string, options: SecretRotation = {}): Promise<EndpointSecret> {
    return await this.#endpoints.rotateSecret(id, options);
  }

  async sendTest(id: string): Promise<TestSent> {
    checkEnabled(await this.#endpoints.get(id));
    return await this.#parts.database.transaction(async (tx) => {
      const eventId = await insertTestMessage(tx, id);
      const test = [{ endpointId: id, messageId: eventId }];
      const [jobId] = await queueDeliveries(tx, this.#parts.jobs, test, TEST_REPLAY, { priority: 1 });
      return { jobId: jobId!, eventId };
    });
  }

  deliveries(filter: DeliveryFilter): Promise<Delivery[]> {
    return this.#endpoints.deliveries(filter);
  }

  async redeliver(id: string, deliveryId?: string): Promise<number> {
    if (deliveryId !== undefined) checkDeliveryId("deliveryId", deliveryId);
    checkEnabled(await this.#endpoints.get(id));
    return await redeliver(this.#parts, id, deliveryId ?? null);
  }

  async skip(deliveryId: string): Promise<void> {
    checkDeliveryId("deliveryId", deliveryId);
    await this.#bringForward(
      await skip(this.#parts.database, deliveryId, this.#endpoints.ownerId),
      SKIPPED_TO,
    );
  }

  async replay(id: string, request: ReplayRequest): Promise<ReplayStarted> {
    const { since, until, limit } = resolveOptions("a replay", request, REPLAY);
    const from = instantText("since", since);
    const to = instantText("until", until ?? new Date());
    // Of one form and length, so their order is that of the instants.
    if (from >= to) throw new InvalidOptionError("since", since, "an instant before until");
    checkEnabled(await this.#endpoints.get(id));
    const replayId = crypto.randomUUID();
    const args: Json = {
      endpoint_id: id,
      replay_id: replayId,
      since: from,
      until: to,
      limit: limit!,
    };
    return { replayId, jobId: await this.#parts.jobs.enqueue(REPLAY_KIND, args) };
  }

  eventTypes(): readonly EventType[] {
    return exposedTypes(this.#parts);
  }

  async #bringForward(endpointId: string, most?: number): Promise<void> {
    const { database, inspector, log } = this.#parts;
    const options = most === undefined ? {} : { most };
    await bringForwardTwice({ deliveries: new Deliveries(database), inspector, log }, endpointId, options);
  }
}

class OwnerOperations extends Operations implements OwnerWebhooks {
  readonly ownerId: string;

  constructor(ownerId: string, parts: Parts, endpoints: Endpoints) {
    super(parts, endpoints);
    this.ownerId = ownerId;
  }
}

/** The types that are exposed to webhooks. */
export function exposedTypes(parts: Parts): readonly EventType[] {
  return [...parts.eventTypes().values()].filter(({ exposure }) => exposure === "webhook");
}

function checkEnabled({ id, enabled, disabledReason }: Endpoint): void {
  if (!enabled) throw new EndpointDisabledError(id, disabledReason ?? "by hand");
}
