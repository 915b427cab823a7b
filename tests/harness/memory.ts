import { createMemoryStore } from "../../adapters/memory/memory_store.ts";
import { createMemoryRuntime } from "../../mod.ts";
import { silentLog } from "../../shared/log.ts";
import type { Bench, Harness } from "../conformance/harness.ts";
import { loadInline } from "./load_inline.ts";
import begin, { memoryStores } from "./memory_transactions.ts";

/** The suite on the store in memory, with handlers in the main thread. */
export const memoryHarness: Harness = {
  name: "memory",
  capabilities: { canEndHandlers: false },
  handler: loadInline,
  open(): Promise<Bench> {
    const store = createMemoryStore();
    const args = { name: crypto.randomUUID() };
    memoryStores.set(args.name, store);
    return Promise.resolve({
      store: () => Promise.resolve(store),
      runtime: ({ graceMs, ...options }) =>
        createMemoryRuntime({ ...options, store, executor: { graceMs }, log: silentLog }),
      begin: () => begin(args),
      handlerTransactions: { module: new URL("./memory_transactions.ts", import.meta.url).href, args },
      [Symbol.asyncDispose]: () => {
        memoryStores.delete(args.name);
        return Promise.resolve();
      },
    });
  },
};
