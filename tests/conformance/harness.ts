import type { CompositionInput } from "../../ports/composition.ts";
import type { Handler } from "../../ports/handler.ts";
import type { Json } from "../../ports/json.ts";
import type { Runtime } from "../../ports/runtime.ts";
import type { Store } from "../../ports/store.ts";
import type { Tx } from "../../ports/tx.ts";
import type { Settings } from "../../runtime/settings.ts";

/** What the suite needs to know about an adapter, and how to create its storage. */
export interface Harness {
  /** The prefix of every test's name. */
  readonly name: string;
  /** What the adapter can do. A case that needs more is skipped, with the reason. */
  readonly capabilities: Capabilities;
  /** Returns a handler module of the suite: its URL, for threads to load, or its default export. */
  handler(module: URL): Promise<Handler | URL>;
  /** Creates empty storage for one case. */
  open(): Promise<Bench>;
}

/** An adapter's capabilities. */
export interface Capabilities {
  /**
   * Whether handlers are modules in threads: whatever their code does, it can be terminated, and it can't end the
   * process.
   */
  readonly canEndHandlers: boolean;
}

/** The storage of one case. Disposing of it removes it with everything in it. */
export interface Bench extends AsyncDisposable {
  /**
   * Opens a separate store on this storage. With it a case plays another process: one that dies, is late, or sends no
   * signals.
   */
  store(): Promise<Store>;
  /** Builds a runtime on this storage, without starting it. There can be several. */
  runtime(options: RuntimeSpec): Runtime;
  /** Begins a transaction on this storage. */
  begin(): Promise<OpenTransaction>;
  /** How a handler begins a transaction, wherever it runs. */
  readonly handlerTransactions: HandlerTransactions;
}

/** A case's options for a runtime. */
export interface RuntimeSpec extends CompositionInput {
  /** The only queues to work. */
  readonly work?: readonly string[];
  /** Times and sizes, about a tenth of the defaults. */
  readonly settings: Partial<Settings>;
  /** Attempts that don't end within this many ms of their signal are terminated, if possible. */
  readonly graceMs: number;
}

/** An open transaction and its two ways to end. */
export interface OpenTransaction {
  /** The transaction. */
  readonly tx: Tx;
  /** Commits it. */
  commit(): Promise<void>;
  /** Rolls it back. */
  rollback(): Promise<void>;
}

/** Describes how a handler begins a transaction. */
export interface HandlerTransactions {
  /** A module whose default export is `(args: Json) => Promise<OpenTransaction>`. */
  readonly module: string;
  /** The args for that function. */
  readonly args: Json;
}
