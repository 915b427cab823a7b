import type { EventType } from "../../ports/event.ts";
import type {
  Delivery,
  DeliveryFilter,
  Endpoint,
  EndpointChanges,
  EndpointSecret,
  OwnedEndpointDraft,
  ReplayRequest,
  ReplayStarted,
  SecretRotation,
  TestSent,
} from "./endpoint.ts";

/**
 * The webhooks of one owner, as `webhooks.of(ownerId)` shows them: what a tenant may be given. It sees and changes the
 * endpoints of this owner alone. An endpoint of another owner, or of everybody, answers exactly as one that does not exist.
 */
export interface OwnerWebhooks {
  /** Whose they are. */
  readonly ownerId: string;

  /** This owner's endpoints, oldest first. */
  list(): Promise<Endpoint[]>;

  /**
   * One of this owner's endpoints.
   *
   * @throws {EndpointNotFoundError} the owner has none of this id.
   */
  get(id: string): Promise<Endpoint>;

  /**
   * Makes an endpoint of this owner. Its secret is in the answer, and never shown again.
   *
   * @throws {InvalidEndpointError} something of it can't be used; the message says what.
   */
  create(draft: OwnedEndpointDraft): Promise<EndpointSecret>;

  /**
   * As `Webhooks.update`.
   *
   * @throws {InvalidEndpointError} something of it can't be used; the message says what.
   * @throws {EndpointNotFoundError} the owner has none of this id.
   */
  update(id: string, changes: EndpointChanges): Promise<Endpoint>;

  /**
   * As `Webhooks.delete`.
   *
   * @throws {EndpointNotFoundError} the owner has none of this id.
   */
  delete(id: string): Promise<void>;

  /**
   * As `Webhooks.rotateSecret`.
   *
   * @throws {EndpointNotFoundError} the owner has none of this id.
   */
  rotateSecret(id: string, options?: SecretRotation): Promise<EndpointSecret>;

  /**
   * As `Webhooks.sendTest`.
   *
   * @throws {EndpointNotFoundError} the owner has none of this id.
   * @throws {EndpointDisabledError} it is disabled.
   */
  sendTest(id: string): Promise<TestSent>;

  /**
   * As `Webhooks.deliveries`.
   *
   * @throws {EndpointNotFoundError} the owner has none of this id.
   */
  deliveries(filter: DeliveryFilter): Promise<Delivery[]>;

  /**
   * As `Webhooks.redeliver`.
   *
   * @throws {EndpointNotFoundError} the owner has none of this id.
   * @throws {EndpointDisabledError} it is disabled.
   * @throws {DeliveryNotFoundError} the endpoint has no such delivery.
   * @throws {DeliveryHeldError} another session holds its record.
   */
  redeliver(id: string, deliveryId?: string): Promise<number>;

  /**
   * As `Webhooks.skip`.
   *
   * @throws {DeliveryNotFoundError} no endpoint of the owner has such a delivery.
   * @throws {DeliveryMadeError} it was delivered.
   * @throws {DeliveryHeldError} another session holds its record.
   */
  skip(deliveryId: string): Promise<void>;

  /**
   * As `Webhooks.replay`.
   *
   * @throws {EndpointNotFoundError} the owner has none of this id.
   * @throws {EndpointDisabledError} it is disabled.
   * @throws {InvalidOptionError} a time or the limit is out of its range.
   */
  replay(id: string, request: ReplayRequest): Promise<ReplayStarted>;

  /** The event types that an endpoint can ask for. */
  eventTypes(): readonly EventType[];
}
