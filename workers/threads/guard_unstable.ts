/// <reference lib="deno.worker" />

/**
 * Makes what Deno answers by ending the whole process an error of the caller's: workers with permissions of their own,
 * and sockets between virtual machines. Both are unstable features that want a flag.
 */
export function guardUnstable(): void {
  guardWorkers();
  for (const name of ["listen", "connect", "serve"] as const) guardSockets(name);
}

function guardWorkers(): void {
  const { Worker: Original } = globalThis;
  class Worker extends Original {
    constructor(specifier: string | URL, options?: WorkerOptions) {
      const deno = member(options, "deno");
      if (member(deno, "permissions") !== undefined) {
        throw new TypeError(
          "A handler can't start a worker with permissions of its own: Deno would end this whole process. " +
            "Use ctx.call(module, input, { permissions }), or give the kind permissions",
        );
      }
      // What was looked at is what is used.
      super(specifier, options === undefined ? undefined : { ...options, ...denoOption(deno) });
    }
  }
  Reflect.set(globalThis, "Worker", Worker);
}

function denoOption(deno: unknown): WorkerOptions {
  if (typeof deno !== "object" || deno === null) return {};
  const { permissions: _none, ...others } = deno as Record<string, unknown>;
  return { deno: others } as WorkerOptions;
}

function guardSockets(name: "listen" | "connect" | "serve"): void {
  const original = Deno[name] as (...args: unknown[]) => unknown;
  const guarded = (...args: unknown[]): unknown => {
    if (!args.some((arg) => member(arg, "transport") === "vsock")) return original(...args);
    const error = new TypeError(
      `A handler can't call Deno.${name} with the transport "vsock": Deno would end this whole process`,
    );
    if (name === "connect") return Promise.reject(error);
    throw error;
  };
  Object.defineProperty(guarded, "name", { value: name });
  Reflect.set(Deno, name, guarded);
}

function member(value: unknown, name: string): unknown {
  const isRecord = typeof value === "object" && value !== null || typeof value === "function";
  return isRecord ? Reflect.get(value as object, name) : undefined;
}
