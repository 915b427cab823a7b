import { InvalidOptionError, RuntimeStateError } from "../ports/errors.ts";
import type { EventType } from "../ports/event.ts";
import type { Handler } from "../ports/handler.ts";
import type { Parts, Registrar } from "../ports/registrar.ts";
import type { UpkeepTask } from "../ports/upkeep.ts";
import { checkOptions, type Options, UNCHECKED } from "../shared/options.ts";
import { Attempts } from "./deliveries/attempt.ts";
import { deliverHandler } from "./deliveries/deliver.ts";
import { Deliveries } from "./deliveries/delivery.ts";
import { FANOUT_SUBSCRIPTION, fanOutHandler } from "./deliveries/fan_out.ts";
import { orderedFanOut } from "./deliveries/fan_out_in_order.ts";
import { givenUpAlerts } from "./deliveries/given_up.ts";
import { JOBLESS_PERIODIC, joblessHandler } from "./deliveries/jobless.ts";
import { DELIVER_KIND } from "./deliveries/queue_deliveries.ts";
import { REPLAY_KIND, replayHandler } from "./deliveries/replay.ts";
import { keepUndelivered, RETENTION_PERIODIC, retentionHandler } from "./deliveries/retention.ts";
import { Turns } from "./deliveries/turns.ts";
import type {
  Delivery,
  DeliveryFilter,
  Endpoint,
  EndpointChanges,
  EndpointDraft,
  EndpointSecret,
  ReplayRequest,
  ReplayStarted,
  SecretRotation,
  TestSent,
} from "./endpoints/endpoint.ts";
import { EndpointHealth } from "./endpoints/endpoint_health.ts";
import { Endpoints, isOwnerId, OWNER_EXPECTED } from "./endpoints/endpoints.ts";
import { KEY_VARIABLE, KeyRing } from "./endpoints/key_ring.ts";
import { exposedTypes, Operations } from "./endpoints/operations.ts";
import type { OwnerWebhooks } from "./endpoints/owner_webhooks.ts";
import { SecretBox } from "./endpoints/secret_box.ts";
import { SecretCheck } from "./endpoints/secret_check.ts";
import { WEBHOOKS } from "./schema.ts";
import { EgressGuard, type EgressOptions } from "./sender/guard.ts";
import { ISOLATION, Sender } from "./sender/sender.ts";
import {
  BESIDE_MAX,
  delayMs,
  JOB_MS_MAX,
  resolveWebhookSettings,
  SLOT_MS,
  type WebhookSettings,
} from "./settings.ts";

/** How webhooks work. */
export interface WebhooksOptions {
  /**
   * The keys that secrets are sealed with: base64 of 32 bytes, with an id before it if wanted (`2026:...`), several
   * separated by commas, of which the first seals. Default the environment variable `MILLRACE_SECRET_KEY`.
   */
  readonly secretKey?: string;
  /** Where they may go. Default https to the public Internet. */
  readonly egress?: EgressOptions;
  /**
   * Where requests are made, under what `egress` lets through: in a host process that has no access to the database, to
   * files or to the environment, and is denied what no webhook goes to (`process`), or in this process (`none`). Default
   * `process` where one can be started, which is found out at the start and logged; with `process` the start fails else.
   */
  readonly isolation?: "process" | "none";
  /** The queue of the fan-out and the deliveries, of the queue table. Default `webhook`. */
  readonly queue?: string;
  /** Times and bounds; each has a default. */
  readonly settings?: Partial<WebhookSettings>;
}

const QUEUE_DEFAULT = "webhook";
const OPTIONS: Options<WebhooksOptions> = {
  secretKey: UNCHECKED,
  egress: UNCHECKED,
  isolation: ISOLATION,
  queue: UNCHECKED,
  settings: UNCHECKED,
};
const OWNER_FILTER: Options<{ readonly ownerId: string | null }> = { ownerId: UNCHECKED };
const REPLAY_TIMEOUT_MS = 10 * 60 * 1000;
const RETENTION_MS = 60 * 60 * 1000;
const JOBLESS_MS = 10 * 60 * 1000;

interface Bound {
  readonly endpoints: Endpoints;
  readonly operations: Operations;
}

/**
 * Outgoing webhooks: a registrar for the composition, and the operations for the application. The operations work once
 * a runtime was built with the registrar, and need not wait for its start.
 *
 * @example
 * ```ts
 * import { createRuntime } from "@millrace/millrace";
 * import { Webhooks } from "@millrace/millrace/webhooks";
 *
 * const webhooks = new Webhooks();
 * const millrace = createRuntime({
 *   url,
 *   registrars: [orders, webhooks.registrar],
 *   queues: [{ name: "default", concurrency: 5 }, { name: "webhook", concurrency: 100 }],
 * });
 * const { endpoint, secret } = await webhooks.of("tenant-7").create({
 *   url: "https://hooks.example/in",
 *   eventTypes: ["order.*"],
 * });
 * ```
 */
export class Webhooks {
  /** What goes into the composition's registrars. */
  readonly registrar: (parts: Parts) => Registrar;
  readonly #options: WebhooksOptions;
  readonly #settings: WebhookSettings;
  readonly #guard: EgressGuard;
  #bound: Bound | null = null;

  /**
   * Reads the options; connects nothing.
   *
   * @throws {InvalidOptionError} an option is unknown or out of its range.
   * @throws {TypeError} an allowed range of addresses can't be read.
   */
  constructor(options: WebhooksOptions = {}) {
    checkOptions("webhooks", options, OPTIONS);
    this.#options = options;
    this.#settings = resolveWebhookSettings(options.settings);
    this.#guard = new EgressGuard(options.egress);
    this.registrar = (parts) => this.#register(parts);
  }

  /**
   * The webhooks of one owner: what a tenant may be given. What it sees and changes is this owner's alone.
   *
   * @throws {InvalidOptionError} the owner is no text of 1 to 500 characters.
   */
  of(ownerId: string): OwnerWebhooks {
    checkOwner(ownerId);
    return this.#use().operations.of(ownerId);
  }

  /**
   * The endpoints of one owner, oldest first; with null those of everybody, whoever their owner is.
   *
   * @throws {InvalidOptionError} `ownerId` is not there, or neither a text of 1 to 500 characters nor null.
   */
  async list(filter: { readonly ownerId: string | null }): Promise<Endpoint[]> {
    checkOptions("a filter", filter, OWNER_FILTER);
    const { operations } = this.#use();
    if (filter.ownerId === null) return await operations.list();
    checkOwner(filter.ownerId, ", or null for the endpoints of everybody");
    return await operations.of(filter.ownerId).list();
  }

  /**
   * One endpoint.
   *
   * @throws {EndpointNotFoundError} there is none.
   */
  async get(id: string): Promise<Endpoint> {
    return await this.#use().operations.get(id);
  }

  /**
   * Makes an endpoint. Its secret is in the answer, and never shown again.
   *
   * @throws {InvalidEndpointError} something of it can't be used; the message says what.
   */
  async create(draft: EndpointDraft): Promise<EndpointSecret> {
    return await this.#use().operations.create(draft);
  }

  /**
   * Changes an endpoint. What waits for it goes to where the endpoint then points.
   *
   * @throws {InvalidEndpointError} something of it can't be used; the message says what.
   * @throws {EndpointNotFoundError} there is none.
   */
  async update(id: string, changes: EndpointChanges): Promise<Endpoint> {
    return await this.#use().operations.update(id, changes);
  }

  /**
   * Deletes an endpoint. What waits for it is discarded.
   *
   * @throws {EndpointNotFoundError} there is none.
   */
  async delete(id: string): Promise<void> {
    await this.#use().operations.delete(id);
  }

  /**
   * Gives an endpoint a new secret, in the answer and never shown again. The old one signs as well until the overlap
   * ends (default 24 h, at most 30 days; 0 for a secret that leaked). With `signature` the new one is of that sort.
   *
   * @throws {EndpointNotFoundError} there is none.
   */
  async rotateSecret(id: string, options: SecretRotation = {}): Promise<EndpointSecret> {
    return await this.#use().operations.rotateSecret(id, options);
  }

  /**
   * Sends a message of type `webhook.test`, at once and once: a failing endpoint's pause does not hold it up, and it is not
   * retried. Resolves to its job, for `wait`.
   *
   * @throws {EndpointNotFoundError} there is none.
   * @throws {EndpointDisabledError} it is disabled.
   */
  async sendTest(id: string): Promise<TestSent> {
    return await this.#use().operations.sendTest(id);
  }

  /**
   * The deliveries of an endpoint with the log of their attempts, newest first.
   *
   * @throws {EndpointNotFoundError} there is none.
   */
  async deliveries(filter: DeliveryFilter): Promise<Delivery[]> {
    return await this.#use().operations.deliveries(filter);
  }

  /**
   * Puts every discarded delivery of an endpoint back in line, with all of its attempts, tests aside; or the one that is
   * named, also if it was delivered; if it waits still, it is due now, with the attempts that it has left. An endpoint that
   * pauses is still given its pause. Resolves to how many.
   *
   * @throws {EndpointNotFoundError} there is none.
   * @throws {EndpointDisabledError} it is disabled.
   * @throws {DeliveryNotFoundError} the endpoint has no such delivery.
   * @throws {DeliveryHeldError} another session holds its record.
   */
  async redeliver(id: string, deliveryId?: string): Promise<number> {
    return await this.#use().operations.redeliver(id, deliveryId);
  }

  /**
   * Discards a delivery that waits, so that an ordered endpoint goes on with the next one. One that was given up already is
   * taken off the alerts. `redeliver` puts either back.
   *
   * @throws {DeliveryNotFoundError} there is none.
   * @throws {DeliveryMadeError} it was delivered.
   * @throws {DeliveryHeldError} another session holds its record.
   */
  async skip(deliveryId: string): Promise<void> {
    await this.#use().operations.skip(deliveryId);
  }

  /**
   * Sends every matching event of a time to one endpoint, whether or not it had it before: to recover what was missed
   * while the endpoint was down or disabled. It goes as far back as events are kept. The job tells its progress.
   *
   * @throws {EndpointNotFoundError} there is none.
   * @throws {EndpointDisabledError} it is disabled.
   * @throws {InvalidOptionError} a time or the limit is out of its range.
   */
  async replay(id: string, request: ReplayRequest): Promise<ReplayStarted> {
    return await this.#use().operations.replay(id, request);
  }

  /** The event types that an endpoint can ask for. */
  eventTypes(): readonly EventType[] {
    return this.#use().operations.eventTypes();
  }

  /**
   * Seals every secret again with the first key, so that the others can be taken away. Resolves to how many it sealed.
   *
   * @throws {SecretKeyError} secrets can't be opened: they were sealed with a key that is not given any more, or are damaged.
   * All others were sealed.
   */
  async reseal(): Promise<number> {
    return await this.#use().endpoints.reseal();
  }

  #use(): Bound {
    if (this.#bound !== null) return this.#bound;
    throw new RuntimeStateError(
      "Cannot use these webhooks before a runtime is built with them: hand webhooks.registrar to createRuntime()",
    );
  }

  #register(parts: Parts): Registrar {
    const { secretKey, queue = QUEUE_DEFAULT, isolation } = this.#options;
    const { database, log, call, upkeep } = parts;
    const settings = this.#settings;
    const guard = this.#guard;
    const box = new SecretBox(KeyRing.read(secretKey ?? Deno.env.get(KEY_VARIABLE)));
    const exposed = () => exposedTypes(parts);
    const endpoints = new Endpoints({ database, box, guard, exposed, ownerId: null });
    this.#bound = { endpoints, operations: new Operations(parts, endpoints) };
    const sender = new Sender({ call, guard, isolation, log });
    const secrets = new SecretCheck({ database, box, log });
    const deliver = deliverHandler({
      deliveries: new Deliveries(database),
      attempts: new Attempts({ guard, box, secrets, sender, settings }),
      health: new EndpointHealth(database, settings, log),
      turns: new Turns(() => parts.queues().get(queue)?.concurrency ?? 1, BESIDE_MAX),
      inspector: parts.inspector,
      underWay: new Set(),
      probed: new Map(),
      settings,
      log,
    });
    return {
      migrations: [WEBHOOKS],
      services: [secrets, sender],
      keepEvents: keepUndelivered,
      alerts: () => givenUpAlerts(database),
      subscriptions: [{
        name: FANOUT_SUBSCRIPTION,
        types: ["*"],
        exposure: "webhook",
        // The database writes the bodies.
        data: false,
        queue,
        // Before the deliveries: a backlog of them must not hold up what an endpoint has not even in line.
        priority: 1,
        inOrder: orderedFanOut(parts),
        handler: fanOutHandler(parts),
      }],
      kinds: [
        {
          name: DELIVER_KIND,
          queue,
          maxAttempts: settings.maxAttempts,
          timeout: JOB_MS_MAX,
          backoff: (attempt) => delayMs(settings, attempt),
          // What was given up is an alert of its own, which a redelivery ends.
          discardAlert: false,
          beside: { afterMs: SLOT_MS, most: BESIDE_MAX },
          handler: deliver,
        },
        {
          name: REPLAY_KIND,
          queue,
          maxAttempts: 5,
          timeout: REPLAY_TIMEOUT_MS,
          handler: replayHandler(parts, exposed),
        },
      ],
      periodics: [{
        name: RETENTION_PERIODIC,
        every: RETENTION_MS,
        handler: recorded(
          upkeep.task("purge deliveries", {
            everyMs: RETENTION_MS,
            failing: "old webhook deliveries not deleted, trying again",
          }),
          retentionHandler(database, settings, log),
        ),
      }, {
        name: JOBLESS_PERIODIC,
        every: JOBLESS_MS,
        handler: recorded(
          upkeep.task("end deliveries without a job", {
            everyMs: JOBLESS_MS,
            failing: "webhook deliveries without a job not ended, trying again",
          }),
          joblessHandler(database, parts.inspector),
        ),
      }],
    };
  }
}

/** A periodic's handler whose runs are recorded as upkeep. */
function recorded(task: UpkeepTask, handler: Handler): Handler {
  return (args, ctx) => task.run(async () => await handler(args, ctx));
}

function checkOwner(ownerId: string, otherwise = ""): void {
  if (isOwnerId(ownerId)) return;
  throw new InvalidOptionError("ownerId", ownerId, `${OWNER_EXPECTED}${otherwise}`);
}
