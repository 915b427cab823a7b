import type { Handler } from "../../ports/handler.ts";
import { describeError, keepableText } from "../describe_error.ts";

/** A handler module could not be loaded. */
export class LoadError extends Error {
  /** The name of the class. */
  override readonly name = "LoadError";
  /** What is wrong with it. */
  readonly fault: string;

  /** Names the module and the fault. */
  constructor(module: string, fault: string, options?: ErrorOptions) {
    super(keepableText(`Cannot load the handler module ${module}: ${fault}`), options);
    this.fault = fault;
  }
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
    throw new LoadError(module, describeError(error).message, { cause: error });
  }
  const handler = namespace.default;
  if (typeof handler === "function") return handler as Handler;
  const found = handler === undefined
    ? "it has no default export"
    : `its default export is ${typeof handler}`;
  throw new LoadError(module, `${found}, expected a function`);
}
