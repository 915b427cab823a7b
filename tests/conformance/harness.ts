import type { CompositionInput } from "../../ports/composition.ts";
import type { Handler } from "../../ports/handler.ts";
import type { Json } from "../../ports/json.ts";
import type { Runtime } from "../../ports/runtime.ts";
import type { Store } from "../../ports/store.ts";
import type { Tx } from "../../ports/tx.ts";
import type { Settings } from "../../runtime/settings.ts";

/** What the suite needs to know of an adapter, and how it makes one. */
export interface Harness {
  /** Begins the name of every test. */
  readonly name: string;
  /** What the adapter can do. A case that needs more is skipped, and says why. */
  readonly capabilities: Capabilities;
  /** Hands over a handler module of the suite: its URL to be loaded by threads, or what it exports by default. */
  handler(module: URL): Promise<Handler | URL>;
  /** Makes empty storage for one case. */
  open(): Promise<Bench>;
}

/** What an adapter can do. */
export interface Capabilities {
  /** Handlers are modules in threads: whatever their code does, it can be ended, and it can't end the process. */
  readonly canEndHandlers: boolean;
}

/** Storage for one case. Disposing of it removes it with all that is in it. */
export interface Bench extends AsyncDisposable {
  /**
   * A store of its own, opened, on this storage. Through it a case plays the part of another process: one that dies,
   * comes late, or sends no signals.
   */
  store(): Promise<Store>;
  /** Builds a runtime on this storage, not started. There can be several. */
  runtime(options: RuntimeSpec): Runtime;
  /** Begins a transaction on this storage. */
  begin(): Promise<OpenTransaction>;
  /** How a handler begins one, wherever it runs. */
  readonly handlerTransactions: HandlerTransactions;
}

/** What a case asks of a runtime. */
export interface RuntimeSpec extends CompositionInput {
  /** Works only these queues. */
  readonly work?: readonly string[];
  /** Times and sizes, about a tenth of the defaults. */
  readonly settings: Partial<Settings>;
  /** What does not end within so many ms of its signal is ended, where it can be. */
  readonly graceMs: number;
}

/** An open transaction and how it ends. */
export interface OpenTransaction {
  /** The transaction. */
  readonly tx: Tx;
  /** Commits it. */
  commit(): Promise<void>;
  /** Rolls it back. */
  rollback(): Promise<void>;
}

/** Says how a handler begins a transaction. */
export interface HandlerTransactions {
  /** A module whose default export is `(args: Json) => Promise<OpenTransaction>`. */
  readonly module: string;
  /** What it is called with. */
  readonly args: Json;
}
