import type { Json } from "../../ports/json.ts";
import type { Tx } from "../../ports/tx.ts";
import { errorAsJson } from "../error_transfer.ts";
import type { JobOrder } from "../jobs/job_order.ts";
import { StatementsOfOrders } from "../jobs/statements_of_orders.ts";
import type { CallRequest } from "../work.ts";
import type { HostTask } from "./host_task.ts";
import { CALLS_AT_ONCE_MAX, type HostCommand } from "./protocol.ts";

/** What is done for the calls and orders of a host process. */
export interface CallsOptions {
  /** Makes a call. */
  readonly call: (task: HostTask, request: CallRequest, signal: AbortSignal) => Promise<Json>;
  /** Carries an order out. */
  readonly jobs: (task: HostTask, order: JobOrder, tx: Tx | null) => Promise<Json>;
  /** Tells the process what came of one, and what is to be done for an order. */
  readonly tell: (command: HostCommand) => void;
}

interface Open {
  readonly key: number;
  readonly controller: AbortController;
}

/**
 * The calls and the orders for jobs of one host process that are under way. Each belongs to an attempt in it, and ends with
 * that at the latest.
 */
export class CallsOfHost {
  #options: CallsOptions;
  #open = new Map<number, Open>();
  /** Their place is the number of the order. */
  #statements = new StatementsOfOrders();

  /** None is under way. */
  constructor(options: CallsOptions) {
    this.#options = options;
  }

  /** Makes a call for a task; undefined when that has ended. False when the process makes more calls than it may. */
  take(call: number, task: HostTask | undefined, request: CallRequest): boolean {
    return this.#take(
      call,
      task,
      `Cannot call ${request.module.slice(0, 200)}: the attempt is over`,
      (task, signal) => this.#options.call(task, request, signal),
    );
  }

  /** Carries an order out for a task; undefined when that has ended. False when there are more than there may be. */
  order(call: number, task: HostTask | undefined, order: JobOrder, isInTransaction: boolean): boolean {
    return this.#take(call, task, "Cannot use ctx.jobs: the attempt is over", (task) => {
      const tx: Tx | null = isInTransaction
        ? {
          ...this.#statements.transaction(call, (statement, text, params, options) =>
            this.#options.tell(["statement", call, statement, text, params, options ?? null])),
          isUntrusted: true,
        }
        : null;
      return this.#options.jobs(task, order, tx);
    });
  }

  /** A statement of an order was run. */
  rows(statement: number, ok: boolean, value: Json): void {
    this.#statements.take(statement, ok, value);
  }

  /** Ends one call. */
  endOne(call: number): void {
    this.#open.get(call)?.controller.abort();
  }

  /** Ends the calls of one attempt. */
  end(key: number): void {
    for (const open of this.#open.values()) if (open.key === key) open.controller.abort();
  }

  /** Ends all of them. */
  endAll(): void {
    for (const { controller } of this.#open.values()) controller.abort();
    this.#open.clear();
  }

  #take(
    call: number,
    task: HostTask | undefined,
    over: string,
    make: (task: HostTask, signal: AbortSignal) => Promise<Json>,
  ): boolean {
    if (this.#open.size >= CALLS_AT_ONCE_MAX || this.#open.has(call)) return false;
    if (task === undefined) {
      this.#options.tell(["called", call, false, { message: over }]);
      return true;
    }
    const controller = new AbortController();
    controller.signal.addEventListener("abort", () => this.#statements.end(call), { once: true });
    this.#open.set(call, { key: task.key, controller });
    make(task, controller.signal).then(
      (value) => this.#answer(call, true, value),
      (error) => this.#answer(call, false, errorAsJson(error)),
    );
    return true;
  }

  #answer(call: number, ok: boolean, value: Json): void {
    if (this.#open.delete(call)) this.#options.tell(["called", call, ok, value]);
  }
}
