import type { MemoryStore } from "../../adapters/memory/memory_store.ts";
import type { Json } from "../../ports/json.ts";
import type { OpenTransaction } from "../conformance/harness.ts";

/** The stores of the benches that are open, by name: handlers in the main thread find theirs here. */
export const memoryStores: Map<string, MemoryStore> = new Map();

/** Begins a transaction on the store that is named. */
export default function begin(args: Json): Promise<OpenTransaction> {
  const { name } = args as { name: string };
  const tx = memoryStores.get(name)!.begin();
  return Promise.resolve({ tx, commit: () => tx.commit(), rollback: () => tx.rollback() });
}
