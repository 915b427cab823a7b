import type { Handler } from "../../ports/handler.ts";

/** What a handler module exports, for adapters whose handlers run in the main thread. */
export async function loadInline(module: URL): Promise<Handler> {
  return (await import(module.href)).default;
}
