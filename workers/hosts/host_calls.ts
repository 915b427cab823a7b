import type { Json } from "../../ports/json.ts";
import { CALL_BYTES_MAX } from "../../ports/limits.ts";
import type { Tx } from "../../ports/tx.ts";
import { toJsonText } from "../../shared/json_text.ts";
import { errorAsJson, errorFromJson } from "../error_transfer.ts";
import type { JobOrder } from "../jobs/job_order.ts";
import { runStatement } from "../jobs/run_statement.ts";
import type { CallRequest } from "../work.ts";
import { CALLS_AT_ONCE_MAX, type HostCommand, type HostReport } from "./protocol.ts";

interface Open {
  readonly answer: PromiseWithResolvers<Json>;
  /** Where the statements of an order are run. */
  readonly tx: Tx | null;
}

/**
 * The host process's side of calls and of orders for jobs: how many are under way is bounded here, and the process that is
 * asked insists on it.
 */
export class HostCalls {
  #report: (report: HostReport) => void;
  #open = new Map<number, Open>();
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
    const { call, answer } = this.#begin(null);
    signal.addEventListener("abort", () => this.#report(["endCall", call]), { once: true });
    this.#report(["call", key, call, module, input, options ?? null]);
    return await answer;
  }

  /** Has an order for jobs carried out for the attempt of this key. */
  async order(key: number, order: JobOrder, tx: Tx | null): Promise<Json> {
    // A frame that is too long would end this process.
    toJsonText(order.params, { name: "what is enqueued at once", maxBytes: CALL_BYTES_MAX });
    await this.#place();
    const { call, answer } = this.#begin(tx);
    this.#report(["jobs", key, call, order, tx !== null]);
    return await answer;
  }

  /** A statement of an order is to be run. */
  statement(
    [, call, statement, text, params, options]: Extract<HostCommand, readonly ["statement", ...unknown[]]>,
  ): void {
    const tx = this.#open.get(call)?.tx;
    if (tx === undefined || tx === null) return;
    runStatement(tx, text, params, options).then(
      (rows) => this.#report(["rows", statement, true, rows]),
      (thrown) => this.#report(["rows", statement, false, errorAsJson(thrown)]),
    );
  }

  /** A call or an order has ended. */
  called(call: number, ok: boolean, value: Json): void {
    const open = this.#open.get(call);
    if (!this.#open.delete(call)) return;
    this.#free();
    if (ok) open?.answer.resolve(value);
    else open?.answer.reject(errorFromJson(value));
  }

  #begin(tx: Tx | null): { readonly call: number; readonly answer: Promise<Json> } {
    const call = ++this.#count;
    const answer = Promise.withResolvers<Json>();
    this.#open.set(call, { answer, tx });
    return { call, answer: answer.promise };
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
