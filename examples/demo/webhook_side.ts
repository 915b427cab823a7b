import { Webhooks } from "@millrace/millrace/webhooks";
import { WebhookVerificationError, WebhookVerifier } from "@millrace/millrace/webhooks/verify";
import type { PostgresRuntime, Queue } from "@millrace/millrace";
import { FILE_DIGESTED } from "./file_job.ts";

/** What the demo tells of webhooks. */
export interface WebhookResult {
  /** Where they went; null for the demo's own receiver. */
  readonly url: string | null;
  /** How many were answered with 2xx. */
  readonly delivered: number;
  /** How many are not yet, or never. */
  readonly others: number;
  /** How many the demo's own receiver has verified; null when it was another's. */
  readonly verified: number | null;
}

const QUEUE = "webhook";
const LOOK_MS = 100;
/** How long the demo waits while nothing is delivered, in ms. */
const PATIENCE_MS = 10_000;

/** Sends what the demo tells to a URL, or to a receiver of its own that verifies every signature. */
export class WebhookSide implements AsyncDisposable {
  /** What goes into the composition. */
  readonly webhooks: Webhooks;
  /** Its queue. */
  readonly queue: Queue = { name: QUEUE, concurrency: 50 };
  readonly #url: string | null;
  readonly #verified: Set<string> = new Set();
  #verifier: WebhookVerifier | null = null;
  #server: Deno.HttpServer<Deno.NetAddr> | null = null;

  /** To this URL, or to itself. */
  constructor(url: string | null) {
    this.#url = url;
    this.webhooks = new Webhooks({
      // The database ends with the demo, so its secrets need no key that outlives it.
      secretKey: btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(32)))),
      queue: QUEUE,
      // Whoever runs the demo names the target, and has it on their own network most likely.
      egress: {
        allowHttp: true,
        allowAddresses: ["127.0.0.0/8", "::1", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"],
      },
    });
  }

  /** Makes the endpoint. Resolves to its secret, for whoever receives. */
  async open(): Promise<string> {
    if (this.#url === null) {
      this.#server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, async (request) => {
        try {
          const { id } = await this.#verifier!.verify(request);
          this.#verified.add(id);
          return new Response(null, { status: 204 });
        } catch (error) {
          if (error instanceof WebhookVerificationError) return new Response(error.reason, { status: 400 });
          throw error;
        }
      });
    }
    const url = this.#url ?? `http://127.0.0.1:${this.#server!.addr.port}/`;
    const { secret } = await this.webhooks.create({
      ownerId: null,
      url,
      eventTypes: [FILE_DIGESTED.type],
      description: "The demo",
    });
    this.#verifier = new WebhookVerifier(secret);
    return secret;
  }

  /** Waits until as many as were recorded have ended, or for a while. */
  async finish(runtime: PostgresRuntime, recorded: number, signal: AbortSignal): Promise<WebhookResult> {
    for (let [before, since] = [0, performance.now()];;) {
      const { states } = await runtime.overview("webhook.deliver");
      const ended = states.completed + states.discarded + states.cancelled;
      if (ended > before) [before, since] = [ended, performance.now()];
      if (ended >= recorded || performance.now() - since > PATIENCE_MS) {
        return {
          url: this.#url,
          delivered: states.completed,
          others: recorded - states.completed,
          verified: this.#url === null ? this.#verified.size : null,
        };
      }
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
      signal.throwIfAborted();
    }
  }

  /** Ends the receiver. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server?.shutdown();
  }
}
