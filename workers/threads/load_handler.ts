import type { Handler } from "../../ports/mod.ts";
import { describeError } from "../describe_error.ts";

/** A handler module could not be loaded. */
export class LoadError extends Error {
  /** The name of the class. */
  override readonly name = "LoadError";
}

/**
 * Imports a handler module and returns its default export.
 *
 * @throws {LoadError} naming the module and what is wrong with it.
 */
export async function loadHandler(module: string): Promise<Handler> {
  let namespace: { default?: unknown };
  try {
    namespace = await import(module);
  } catch (error) {
    throw new LoadError(`Cannot load the handler module ${module}: ${describeError(error).message}`, {
      cause: error,
    });
  }
  const handler = namespace.default;
  if (typeof handler !== "function") {
    const found = handler === undefined
      ? "it has no default export"
      : `its default export is ${typeof handler}`;
    throw new LoadError(`Cannot use the handler module ${module}: ${found}, expected a function`);
  }
  return handler as Handler;
}
