import { errorText } from "../../ports/error_text.ts";
import { CompositionError } from "../../ports/errors.ts";
import type { JobContext } from "../../ports/handler.ts";
import type { Json } from "../../ports/json.ts";
import type { Log } from "../../ports/log.ts";
import type { Permissions } from "../../ports/permissions.ts";
import type { Parts } from "../../ports/registrar.ts";
import type { Service } from "../../ports/runtime.ts";
import { oneOf, type Option } from "../../shared/options.ts";
import { CALL_EXTRA_MS } from "../settings.ts";
import type { EgressGuard } from "./guard.ts";
import type { Poster, PostInput, PostOutput } from "./poster.ts";

/** Where requests are made: in a host process, or in this process itself. */
export type Isolation = "process" | "none";

/** The option that says where. */
export const ISOLATION: Option = { ...oneOf(["process", "none"]), expected: '"process" or "none"' };
const POST = new URL("./post.ts", import.meta.url);

/** What requests are made with. */
export interface SenderOptions {
  /** Runs modules in host processes. */
  readonly call: Parts["call"];
  /** Says what the host process is denied. */
  readonly guard: EgressGuard;
  /** What is demanded; undefined for a process wherever one can be started. */
  readonly isolation: Isolation | undefined;
  /** Told at the start where requests are made. */
  readonly log: Log;
}

/**
 * Makes requests, in a host process or in place. Which of them is decided once, at the start, by starting one and
 * finding it denied what it must not reach: a process that dies later is started again, and never done without.
 */
export class Sender implements Service {
  readonly #options: SenderOptions;
  readonly #permissions: Permissions;
  #inPlace: Poster | null = null;

  /** With these. */
  constructor(options: SenderOptions) {
    this.#options = options;
    this.#permissions = { net: true, denyNet: options.guard.denied };
  }

  /** Decides where requests are made. */
  async open(): Promise<void> {
    const { isolation, log } = this.#options;
    this.#inPlace = null;
    if (isolation === "none") {
      log.info("webhooks are sent from this process itself, as was asked for", { isolation });
      return await this.#sendInPlace();
    }
    // What made the first start fail may pass, and the wall would be lost for as long as this process lives.
    const reason = await this.#whyNoProcess() && await this.#whyNoProcess();
    if (reason === null) {
      return log.info("webhooks are sent from a process of their own", { isolation: "process" });
    }
    if (isolation === "process") {
      throw new CompositionError([
        `webhooks: isolation is "process", and none can be started here: ${reason}. Let this program start Deno ` +
        `(--allow-run), or send from this process itself, with isolation "none"`,
      ]);
    }
    log.warn("webhooks are sent from this process itself: the guard of addresses is the only wall", {
      isolation: "none",
      reason,
    });
    await this.#sendInPlace();
  }

  /** There is nothing to begin. */
  start(): Promise<void> {
    return Promise.resolve();
  }

  /** Lets go of connections that nobody uses. What is still under way ends as it would. */
  stop(): Promise<void> {
    this.#inPlace?.close();
    return Promise.resolve();
  }

  /** Makes one request. */
  async send(input: PostInput, { call, signal }: Pick<JobContext, "call" | "signal">): Promise<PostOutput> {
    if (this.#inPlace === null) return await this.#call(call, input, input.timeoutMs + CALL_EXTRA_MS);
    const output = await this.#inPlace.post(input, { signal });
    // The guard let it through, so it is this program that may not, and nobody else is to blame.
    if (output.type === "failed" && output.reason === "denied") {
      throw new Error("the permissions of this program do not let it connect there, expected --allow-net");
    }
    return output;
  }

  /** What sends is loaded here alone: a program that has it done in a process does without it. */
  async #sendInPlace(): Promise<void> {
    const { createPoster } = await import("./post.ts");
    this.#inPlace = createPoster();
  }

  async #whyNoProcess(): Promise<string | null> {
    const { denyNet = [] } = this.#permissions;
    // What the guard allows is not denied. Where that is everything, nothing need be.
    const address = denyNet[0]?.replace(/\/.*$|^\[|\]$/g, "") ?? "0.0.0.0";
    const input = {
      addresses: [address],
      url: "http://nobody.invalid:1/",
      headers: {},
      body: "",
      timeoutMs: 1000,
    };
    try {
      const output = await this.#call(this.#options.call, input);
      const isDenied = output.type === "failed" && output.reason === "denied";
      return isDenied || denyNet.length === 0 ? null : "it was not denied what it must not reach";
    } catch (error) {
      return errorText(error);
    }
  }

  async #call(call: Parts["call"], input: PostInput, timeout?: number): Promise<PostOutput> {
    const options = { permissions: this.#permissions, ...(timeout === undefined ? {} : { timeout }) };
    return await call(POST, input as unknown as Json, options) as unknown as PostOutput;
  }
}
