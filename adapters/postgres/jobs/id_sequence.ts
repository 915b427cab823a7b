import { errorText } from "../../../ports/error_text.ts";
import { IdSequenceBehindError, RefusedValueError, StatementTimeoutError } from "../../../ports/errors.ts";
import type { Log } from "../../../ports/log.ts";
import { isOfTheMoment } from "../../../shared/outage.ts";
import type { PostgresDatabase } from "../connection/database.ts";

/** So far beyond the highest id it is moved: others may take numbers meanwhile. */
const MARGIN = 10_000;

/** Ids beyond this were somebody's idea; moved past them the sequence could run out. */
const HIGHEST_MAX = "4611686018427387904";

const BEHIND = `
  select highest::text as highest, highest + ${MARGIN} as ahead
  from {schema}.job_id_seq as ids
  cross join (
    select greatest((select max(id) from {schema}.job), (select max(id) from {schema}.job_history)) as highest
  ) as known
  where ids.last_value - (not ids.is_called)::int < highest and highest < ${HIGHEST_MAX}`;

const MOVE_AHEAD = "select setval($1::text::regclass, $2::text::bigint)";

/**
 * The sequence of the jobs' ids. A restore of the tables alone, or logical replication, leaves it behind the ids that are
 * in use: new jobs would get the ids of others.
 */
export class IdSequence {
  readonly #database: PostgresDatabase;
  readonly #log: Log;

  /** Does nothing yet. */
  constructor(database: PostgresDatabase, log: Log) {
    this.#database = database;
    this.#log = log;
  }

  /** Moves the sequence ahead of the ids in use, if it is behind them. What keeps it from that is logged. */
  async mend(): Promise<void> {
    await this.#mend().catch((error) => this.#logFault(null, error));
  }

  /**
   * Runs an insert that stands alone, and once more when its id was taken and the sequence is now ahead.
   *
   * @throws {IdSequenceBehindError} it could not be moved, or what an outage throws meanwhile.
   */
  async guard<T>(insert: () => Promise<T>): Promise<T> {
    try {
      return await insert();
    } catch (error) {
      if (!isIdTaken(error)) throw error;
      if (!await this.#mend()) throw this.#behind(false, error);
      return await insert();
    }
  }

  /**
   * Runs an insert in a caller's transaction, which an id that is taken has ended.
   *
   * @throws {IdSequenceBehindError} the id was taken; the sequence is ahead now, or can't be moved. Or what an outage throws
   * meanwhile.
   */
  async guardIn<T>(insert: () => Promise<T>): Promise<T> {
    try {
      return await insert();
    } catch (error) {
      throw isIdTaken(error) ? this.#behind(await this.#mend(), error) : error;
    }
  }

  /** Whether no id is taken twice from now on. */
  async #mend(): Promise<boolean> {
    const name = this.#name;
    let ahead: string | null = null;
    try {
      const [behind] = await this.#database.query(BEHIND);
      if (behind === undefined) return true;
      ahead = String(behind.ahead);
      await this.#database.query(MOVE_AHEAD, [name, ahead]);
      this.#log.warn("the sequence of the jobs' ids was behind the ids in use, it was moved ahead", {
        sequence: name,
        highest: String(behind.highest),
        to: ahead,
      });
      return true;
    } catch (error) {
      // It may well be moved the next time.
      if (isOfTheMoment(error) || error instanceof StatementTimeoutError) throw error;
      this.#logFault(ahead, error);
      return false;
    }
  }

  #logFault(ahead: string | null, error: unknown): void {
    const remedy = ahead === null
      ? "compare it with the highest id"
      : `run select setval('${this.#name}', ${ahead})`;
    this.#log.error("the sequence of the jobs' ids can't be checked or moved ahead of the ids in use", {
      sequence: this.#name,
      remedy,
      error: errorText(error),
    });
  }

  get #name(): string {
    return `${this.#database.quotedSchema}.job_id_seq`;
  }

  #behind(isMended: boolean, cause: unknown): IdSequenceBehindError {
    return new IdSequenceBehindError(this.#name, isMended, { cause });
  }
}

/** The server tells the constraint in its message, whatever its language and the caller's driver. */
function isIdTaken(error: unknown): boolean {
  return error instanceof RefusedValueError && error.sqlState === "23505" &&
    /\bjob_pkey\b/.test(error.message);
}
