/// <reference lib="deno.worker" />
import { AsyncLocalStorage } from "node:async_hooks";
import { guardUnstable } from "./guard_unstable.ts";
import { handlerConsole } from "./handler_console.ts";

/** The job whose code runs. */
export interface GuardedJob {
  /** The kind's name. */
  readonly kind: string;
  /** The job's id. */
  readonly id: string;
  /** Whether its handler was called; before that its module is loaded. */
  started: boolean;
  /** Whether its outcome has been told. */
  ended: boolean;
}

/** Told of what handler code does to its thread. */
export interface ThreadGuard {
  /** Code of this job threw where nobody catches. */
  crashed(job: GuardedJob, thrown: unknown): void;
  /** Code of some job did. */
  unattributed(thrown: unknown): void;
  /** The thread is about to end, for code of this job asked for it. Must send what there is to say at once. */
  exiting(job: GuardedJob | undefined, what: string): void;
  /** A line was printed. */
  output(job: GuardedJob | undefined, line: string): void;
}

/** Which job the running code belongs to. */
export const currentJob: AsyncLocalStorage<GuardedJob> = new AsyncLocalStorage<GuardedJob>();

/** Makes this thread survive and attribute what handlers do. Only for threads that run handlers. */
export function guardThread(guard: ThreadGuard): void {
  const thrown = (error: unknown): void => {
    const job = currentJob.getStore();
    if (job === undefined) guard.unattributed(error);
    else guard.crashed(job, error);
  };
  self.addEventListener("unhandledrejection", (event) => {
    event.preventDefault();
    thrown(event.reason);
  });
  self.addEventListener("error", (event) => {
    event.preventDefault();
    thrown(event.error ?? new Error(event.message));
  });
  guardTimers(guard);
  guardExits(guard);
  guardUnstable();
  const write = (line: string) => guard.output(currentJob.getStore(), line);
  globalThis.console = handlerConsole(write);
  guardStreams(write);
  guardMessages();
}

// Code that was written for a Web Worker of its own would talk into the protocol between the thread and its pool.
function guardMessages(): void {
  Reflect.set(self, "postMessage", () => {
    throw new TypeError(
      "A handler has nobody to post a message to: return a value, or use ctx.log or ctx.progress",
    );
  });
}

// In a host process the standard streams carry frames: raw bytes in the middle of one would break it, and a handler
// that reads would take the commands. So they behave alike everywhere: output goes line by line, input is empty.
function guardStreams(write: (line: string) => void): void {
  for (const stream of [Deno.stdout, Deno.stderr]) {
    const decoder = new TextDecoder();
    const writeSync = (bytes: Uint8Array): number => {
      const text = decoder.decode(bytes, { stream: true });
      for (const line of text.replace(/\n$/, "").split("\n")) write(line);
      return bytes.byteLength;
    };
    Reflect.set(stream, "writeSync", writeSync);
    Reflect.set(stream, "write", (bytes: Uint8Array) => Promise.resolve(writeSync(bytes)));
  }
  Reflect.set(Deno.stdin, "readSync", () => null);
  Reflect.set(Deno.stdin, "read", () => Promise.resolve(null));
}

// In the error event of a throw in a timer's callback the store of AsyncLocalStorage is gone, so it is caught there.
function guardTimers(guard: ThreadGuard): void {
  const guarded = (callback: unknown): unknown => {
    const job = currentJob.getStore();
    if (typeof callback !== "function" || job === undefined) return callback;
    return (...args: unknown[]) => {
      try {
        return callback(...args);
      } catch (error) {
        guard.crashed(job, error);
      }
    };
  };
  for (const name of ["setTimeout", "setInterval", "setImmediate", "queueMicrotask"] as const) {
    const original = Reflect.get(globalThis, name) as (...args: unknown[]) => unknown;
    const wrapped = (callback: unknown, ...rest: unknown[]) => original(guarded(callback), ...rest);
    Object.defineProperty(wrapped, "name", { value: name });
    // setTimeout[util.promisify.custom] and the like stay in place.
    for (const key of Object.getOwnPropertySymbols(original)) {
      Object.defineProperty(wrapped, key, Object.getOwnPropertyDescriptor(original, key)!);
    }
    Reflect.set(globalThis, name, wrapped);
  }
}

function guardExits(guard: ThreadGuard): void {
  const close = self.close.bind(self);
  const ending = (what: string) => (code?: unknown): never => {
    const call = `${what}(${code === undefined ? "" : String(code)})`;
    const job = currentJob.getStore();
    // While a module loads this makes the load fail, which tells the same and leaves the thread to the others.
    if (job === undefined || job.started) {
      guard.exiting(job, call);
      close();
    }
    // The thread ends at its next turn; until then nothing after the call may run.
    throw new Error(`the handler called ${call}`);
  };
  Reflect.set(Deno, "exit", ending("Deno.exit"));
  Reflect.set(self, "close", ending("self.close"));
  const process = Reflect.get(globalThis, "process");
  if (typeof process === "object" && process !== null) {
    Reflect.set(process, "exit", ending("process.exit"));
    Reflect.set(process, "reallyExit", ending("process.exit"));
    // It would end the whole process, with all its threads.
    Reflect.set(process, "abort", ending("process.abort"));
  }
}
