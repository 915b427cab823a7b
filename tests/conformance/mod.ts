/**
 * The contract as a test suite, the same for every adapter. The author of a `Store` writes a harness (how to create
 * storage, a runtime and a transaction) and calls {@linkcode conformance} in a test file.
 *
 * @example
 * ```ts ignore: the harness is the author's
 * import { conformance } from "@millrace/millrace/conformance";
 * conformance({ name: "my store", capabilities: { canEndHandlers: true }, handler, open });
 * ```
 *
 * The test process needs permission to read and write temporary files, and whatever the adapter needs.
 *
 * @module
 */
export { conformance } from "./conformance.ts";
export type {
  Bench,
  Capabilities,
  HandlerTransactions,
  Harness,
  OpenTransaction,
  RuntimeSpec,
} from "./harness.ts";
