import { CallNotAllowedError, type Json } from "../ports/mod.ts";

// How a call that failed is told to its caller, over the borders of threads and processes.

/** A failed call as JSON. */
export function callFailure(error: unknown): Json {
  if (error instanceof CallNotAllowedError) return { module: error.module, beyond: [...error.beyond] };
  if (!(error instanceof Error)) return { message: String(error) };
  return { name: error.name, message: error.message };
}

/** The error that the caller gets. */
export function callError(failure: Json): Error {
  const { name, message, module, beyond } = failure as Record<string, Json>;
  if (typeof module === "string" && Array.isArray(beyond)) {
    return new CallNotAllowedError(module, beyond.map(String));
  }
  const error = new Error(String(message));
  if (typeof name === "string") error.name = name;
  return error;
}
