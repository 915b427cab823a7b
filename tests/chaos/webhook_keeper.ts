import {
  DeliveryHeldError,
  DeliveryMadeError,
  EndpointDisabledError,
  type Webhooks,
} from "../../webhooks/mod.ts";
import { Loop } from "./loop.ts";
import { isIdTaken, isOutage, type Shop } from "./producers.ts";
import type { Random } from "./random.ts";

/** How far back a replay reaches, in ms. */
const REPLAY_MS_MAX = 10_000;
const LISTED = 50;

/** An endpoint as the run knows it. */
export interface KeptEndpoint {
  /** The name that the run gave it. */
  readonly name: string;
  /** The product's id of it. */
  readonly id: string;
}

/** Someone who looks after the endpoints: disables them and enables them again, redelivers, skips, replays. */
export class WebhookKeeper extends Loop {
  readonly #shop: Shop;
  readonly #webhooks: Webhooks;
  readonly #endpoints: readonly KeptEndpoint[];
  readonly #random: Random;
  /** Those that are disabled, or may be. */
  readonly #disabled = new Set<KeptEndpoint>();

  constructor(shop: Shop, webhooks: Webhooks, endpoints: readonly KeptEndpoint[], random: Random) {
    super();
    this.#shop = shop;
    this.#webhooks = webhooks;
    this.#endpoints = endpoints;
    this.#random = random;
  }

  /** Enables what is disabled. */
  async enableAll(): Promise<void> {
    for (const endpoint of [...this.#disabled]) await this.#enable(endpoint);
  }

  protected async turn(): Promise<number> {
    await this.#act().catch((error) => this.#failed(error));
    return this.#random.integer(200, 2500);
  }

  async #act(): Promise<void> {
    const random = this.#random;
    const endpoint = random.pick(this.#endpoints);
    if (this.#disabled.has(endpoint)) return await this.#enable(endpoint);
    const action = random.next();
    if (action < 0.25) return await this.#disable(endpoint);
    if (action < 0.55) return await this.#redeliver(endpoint);
    if (action < 0.75) return await this.#redeliverOne(endpoint);
    if (action < 0.85) return await this.#skipOne(endpoint);
    await this.#replay(endpoint);
  }

  async #disable(endpoint: KeptEndpoint): Promise<void> {
    // Before the call: nobody knows whether one that fails has taken effect.
    this.#disabled.add(endpoint);
    this.#shop.journal.write({ what: "disabling", endpoint: endpoint.name });
    await this.#webhooks.update(endpoint.id, { enabled: false });
  }

  async #enable(endpoint: KeptEndpoint): Promise<void> {
    await this.#webhooks.update(endpoint.id, { enabled: true });
    this.#disabled.delete(endpoint);
    this.#shop.journal.write({ what: "enabled", endpoint: endpoint.name });
  }

  async #redeliverOne(endpoint: KeptEndpoint): Promise<void> {
    const deliveries = await this.#webhooks.deliveries({ endpointId: endpoint.id, limit: LISTED });
    if (deliveries.length > 0) await this.#redeliver(endpoint, this.#random.pick(deliveries).id);
  }

  async #skipOne({ id, name }: KeptEndpoint): Promise<void> {
    const waiting = await this.#webhooks.deliveries({ endpointId: id, state: "waiting", limit: LISTED });
    if (waiting.length === 0) return;
    const delivery = this.#random.pick(waiting).id;
    // Before the call: nobody knows whether one that fails has taken effect.
    this.#shop.journal.write({ what: "skipping", endpoint: name, delivery });
    await this.#webhooks.skip(delivery);
  }

  async #redeliver({ id, name }: KeptEndpoint, delivery?: string): Promise<void> {
    const { journal } = this.#shop;
    journal.write({ what: "redeliver", endpoint: name, delivery: delivery ?? null });
    try {
      await this.#webhooks.redeliver(id, delivery);
    } catch (error) {
      journal.write({ what: "redelivery broke off", endpoint: name });
      throw error;
    }
  }

  async #replay({ id, name }: KeptEndpoint): Promise<void> {
    const since = new Date(Date.now() - this.#random.integer(500, REPLAY_MS_MAX));
    const { replayId } = await this.#webhooks.replay(id, { since });
    this.#shop.journal.write({ what: "replay", endpoint: name, id: replayId });
  }

  #failed(error: unknown): void {
    if (isOutage(error) || isIdTaken(error) || error instanceof EndpointDisabledError) return;
    if (error instanceof DeliveryMadeError || error instanceof DeliveryHeldError) return;
    this.#shop.journal.write({ what: "odd", text: String((error as Error).stack ?? error) });
  }
}
