import type { Json } from "../../ports/mod.ts";
import { callFailure } from "../call_failure.ts";
import type { CallRequest } from "../work.ts";
import type { HostTask } from "./host_process.ts";
import { CALLS_AT_ONCE_MAX } from "./protocol.ts";

/** What is done for the calls of a host process. */
export interface CallsOptions {
  /** Makes one. */
  readonly call: (task: HostTask, request: CallRequest, signal: AbortSignal) => Promise<Json>;
  /** Tells the process what came of one. */
  readonly answer: (call: number, ok: boolean, value: Json) => void;
}

interface Open {
  readonly key: number;
  readonly controller: AbortController;
}

/** The calls of one host process that are under way. Each belongs to an attempt in it, and ends with that at the latest. */
export class CallsOfHost {
  #options: CallsOptions;
  #open = new Map<number, Open>();

  /** None is under way. */
  constructor(options: CallsOptions) {
    this.#options = options;
  }

  /** Makes a call for a task; undefined when that has ended. False when the process makes more calls than it may. */
  take(call: number, task: HostTask | undefined, request: CallRequest): boolean {
    if (this.#open.size >= CALLS_AT_ONCE_MAX || this.#open.has(call)) return false;
    if (task === undefined) {
      const message = `Cannot call ${request.module.slice(0, 200)}: the attempt is over`;
      this.#options.answer(call, false, { message });
      return true;
    }
    const controller = new AbortController();
    this.#open.set(call, { key: task.key, controller });
    this.#options.call(task, request, controller.signal).then(
      (value) => this.#answer(call, true, value),
      (error) => this.#answer(call, false, callFailure(error)),
    );
    return true;
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

  #answer(call: number, ok: boolean, value: Json): void {
    if (this.#open.delete(call)) this.#options.answer(call, ok, value);
  }
}
