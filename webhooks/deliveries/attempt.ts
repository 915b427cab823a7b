import { errorText } from "../../ports/error_text.ts";
import type { JobContext } from "../../ports/handler.ts";
import { type AttemptFacts, factsOf, ofOutput, ofVerdict, type Result } from "./classify.ts";
import type { LoadedDelivery } from "./delivery.ts";
import { SecretKeyError } from "../endpoints/key_ring.ts";
import type { SecretBox } from "../endpoints/secret_box.ts";
import type { SecretCheck } from "../endpoints/secret_check.ts";
import type { Sender } from "../sender/sender.ts";
import type { EgressGuard } from "../sender/guard.ts";
import type { PostInput } from "../sender/poster.ts";
import type { WebhookSettings } from "../settings.ts";

/** What an attempt is made with. */
export interface AttemptTools {
  /** Says where it may go. */
  readonly guard: EgressGuard;
  /** Signs. */
  readonly box: SecretBox;
  /** Told of secrets that can't be opened. */
  readonly secrets: SecretCheck;
  /** Sends. */
  readonly sender: Sender;
  /** Times. */
  readonly settings: WebhookSettings;
}

/** An attempt that was made. */
export interface AttemptMade {
  /** What follows. */
  readonly result: Result;
  /** What the log tells of it. */
  readonly facts: AttemptFacts;
}

/** Makes one attempt: checks, signs, sends, and says what follows. */
export class Attempts {
  readonly #tools: AttemptTools;

  /** With these. */
  constructor(tools: AttemptTools) {
    this.#tools = tools;
  }

  /**
   * Makes it. `attempt` chooses which address of a name is tried first, so that one which takes connections and does not
   * answer is not asked again and again. What the endpoint is not to blame for, such as a missing key, is told as a fault and logged.
   */
  async make(delivery: LoadedDelivery, attempt: number, ctx: JobContext): Promise<AttemptMade> {
    try {
      return await this.#make(delivery, attempt, ctx);
    } catch (thrown) {
      const error = errorText(thrown);
      const { endpointId, messageId: eventId, endpoint } = delivery;
      if (thrown instanceof SecretKeyError) {
        this.#tools.secrets.met(endpointId, endpoint.secrets, thrown);
      } else {
        ctx.log.error(
          "a webhook could not be sent, for which its endpoint is not to blame; it is tried again",
          { endpointId, eventId, error },
        );
      }
      return {
        // What stands in the log of deliveries an owner may see.
        result: {
          type: "fault",
          error: "it could not be sent, for which its endpoint is not to blame",
          detail: error,
        },
        facts: { status: null, durationMs: 0, answer: null },
      };
    }
  }

  async #make(delivery: LoadedDelivery, attempt: number, ctx: JobContext): Promise<AttemptMade> {
    const { guard, box, sender, settings } = this.#tools;
    const { endpoint, messageId, body } = delivery;
    const began = performance.now();
    const verdict = await guard.check(endpoint.url);
    const refused = ofVerdict(verdict);
    if (refused !== null || verdict.type !== "allowed") {
      const durationMs = Math.round(performance.now() - began);
      return { result: refused!, facts: { status: null, durationMs, answer: null } };
    }
    const signer = await box.signer(delivery.endpointId, endpoint.secrets);
    const nowMs = delivery.nowMs + performance.now() - delivery.loadedAt;
    const signed = await signer.sign(messageId, Math.floor(nowMs / 1000), encoder.encode(body));
    const input: PostInput = {
      addresses: startingAt(verdict.addresses, attempt - 1).slice(0, ADDRESSES_MAX),
      url: verdict.target.url.href,
      headers: {
        "content-type": "application/json",
        "user-agent": "Millrace-Webhooks",
        accept: "*/*",
        ...signed,
      },
      body,
      timeoutMs: settings.requestMs,
    };
    const output = await sender.send(input, ctx);
    if (output.type === "failed" && (output.reason === "exhausted" || output.reason === "unsendable")) {
      throw new Error(output.message);
    }
    return {
      result: ofOutput(output, nowMs + output.durationMs, settings),
      facts: factsOf(output),
    };
  }
}

const encoder = new TextEncoder();
/** How many addresses of a name one attempt tries. */
const ADDRESSES_MAX = 8;

function startingAt(addresses: readonly string[], index: number): string[] {
  const at = index % addresses.length;
  return [...addresses.slice(at), ...addresses.slice(0, at)];
}
