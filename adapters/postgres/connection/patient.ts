import type { Transaction } from "../../../ports/database.ts";
import { StatementTimeoutError } from "../../../ports/errors.ts";
import type { TxParam, TxRow } from "../../../ports/tx.ts";
import { pause } from "../../../shared/pause.ts";
import type { Statements } from "../sql/statements.ts";
import type { PostgresDatabase } from "./database.ts";

/** How long a statement waits for a lock before it gives its connection back, in ms. Most locks are held for less. */
export const PATIENT_LOCK_MS = 100;

const PAUSE_MS_FIRST = 25;
const PAUSE_MS_MAX = 500;

/** What patient statements need. */
export interface PatientOptions {
  /** Where they are run. */
  readonly database: PostgresDatabase;
  /** Whether the database's own sessions wait for a lock no longer than {@linkcode PATIENT_LOCK_MS}. */
  readonly isBrief: () => boolean;
  /** How long they wait in all, in ms; 0 is no bound. */
  readonly maxMs: number;
}

/**
 * Statements that may have to wait for another session's lock: for a unique key that an open transaction has taken, or
 * the row of a job that one completes. They wait here and keep no connection meanwhile: a try is short, and others have
 * their turn between two of them. So one lock that is held for ever keeps nobody else waiting.
 */
export class PatientStatements implements Statements {
  readonly #options: PatientOptions;

  constructor(options: PatientOptions) {
    this.#options = options;
  }

  /**
   * Runs one statement by itself.
   *
   * @throws {StatementTimeoutError} the lock did not come free within the bound; nothing was done.
   */
  query(text: string, params: readonly TxParam[] = []): Promise<readonly TxRow[]> {
    const { database, isBrief } = this.#options;
    if (!isBrief()) return this.transaction(async (tx) => await tx.unsafe(text, [...params]));
    return this.#patiently(() => database.query(text, params));
  }

  /**
   * Runs a function inside a transaction, which is called again when a lock in it was held. It must do nothing but run
   * statements.
   *
   * @throws as {@linkcode query}.
   */
  transaction<T>(body: (tx: Transaction) => Promise<T>): Promise<T> {
    const { database } = this.#options;
    return this.#patiently(() => database.transaction(body, { lockTimeoutMs: PATIENT_LOCK_MS }));
  }

  async #patiently<T>(run: () => Promise<T>): Promise<T> {
    const begunMs = performance.now();
    const endMs = this.#options.maxMs === 0 ? Infinity : begunMs + this.#options.maxMs;
    for (let pauseMs = PAUSE_MS_FIRST;; pauseMs = Math.min(pauseMs * 2, PAUSE_MS_MAX)) {
      try {
        return await run();
      } catch (error) {
        if (!(error instanceof StatementTimeoutError) || error.bound !== "lock") throw error;
        const nowMs = performance.now();
        if (nowMs >= endMs) {
          throw new StatementTimeoutError("lock", Math.round(nowMs - begunMs), { cause: error.cause });
        }
        await pause(Math.min(pauseMs * (0.75 + Math.random() / 2), endMs - nowMs));
      }
    }
  }
}
