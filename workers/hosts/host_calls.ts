import type { Json } from "../../ports/mod.ts";
import { callError } from "../call_failure.ts";
import type { CallRequest } from "../work.ts";
import { CALLS_AT_ONCE_MAX, type HostReport } from "./protocol.ts";

/** The host process's side of calls: how many are under way is bounded here, and the process that is asked insists on it. */
export class HostCalls {
  #report: (report: HostReport) => void;
  #open = new Map<number, PromiseWithResolvers<Json>>();
  #waiting: (() => void)[] = [];
  #places = CALLS_AT_ONCE_MAX;
  #count = 0;

  /** Asks by reports. */
  constructor(report: (report: HostReport) => void) {
    this.#report = report;
  }

  /** Calls a module for the attempt of this key. Rejects with the error that the other side found. */
  async call(key: number, { module, input, options }: CallRequest, signal: AbortSignal): Promise<Json> {
    await this.#place();
    if (signal.aborted) {
      this.#free();
      throw new Error(`Cannot call ${module}: its caller was told to end`);
    }
    const call = ++this.#count;
    const deferred = Promise.withResolvers<Json>();
    this.#open.set(call, deferred);
    signal.addEventListener("abort", () => this.#report(["endCall", call]), { once: true });
    this.#report(["call", key, call, module, input, options ?? null]);
    return await deferred.promise;
  }

  /** A call has ended. */
  called(call: number, ok: boolean, value: Json): void {
    const deferred = this.#open.get(call);
    if (!this.#open.delete(call)) return;
    this.#free();
    if (ok) deferred?.resolve(value);
    else deferred?.reject(callError(value));
  }

  async #place(): Promise<void> {
    if (this.#places > 0) this.#places--;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  #free(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#places++;
    else next();
  }
}
