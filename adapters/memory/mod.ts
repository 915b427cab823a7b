/**
 * The `Store` port in memory, for unit tests of whatever enqueues or handles jobs: no database, the same promises.
 *
 * @example
 * ```ts
 * import { createMemoryStore } from "@millrace/millrace/memory";
 * const store = createMemoryStore();
 * const tx = store.begin();
 * await tx.rollback();
 * ```
 *
 * @module
 */
export { createMemoryStore, MemoryStore, type MemoryStoreOptions } from "./memory_store.ts";
export { MemoryTx, type TxHost } from "./memory_tx.ts";
export { noDatabase } from "./no_database.ts";
