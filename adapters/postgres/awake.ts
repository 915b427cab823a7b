import { arrayLiteral } from "./sql_text.ts";
import type { Statements } from "./statements.ts";

/** How long full batches must have followed each other before a mark is worth its write, in ms. */
const BUSY_MS = 500;

/** How often a mark is renewed, in ms. */
const RENEW_MS = 500;

/** How long a mark holds without being renewed, in ms. A process that dies leaves it for so long, less than a poll. */
const VALID_MS = 900;

/** Of a process on the record alone: a late one of another would stay for ever. */
const MARK = `
  insert into {schema}.awake (queue, owner, until)
  select $1::text, id, clock_timestamp() + $3::int * interval '1 ms'
  from {schema}.worker
  where id = $2::text::uuid
  for key share
  on conflict (queue, owner) do update set until = excluded.until`;

const WITHDRAW = "delete from {schema}.awake where owner = $1::text::uuid and queue = any($2::text::text[])";

interface Busy {
  since: number;
  markedAt: number | null;
}

/**
 * The marks that tell enqueuers that a queue is being claimed from without a pause, so that they need to wake nobody:
 * a notification inside every business transaction costs a third to a half of their rate.
 */
export class AwakeMarks {
  readonly #database: Statements;
  readonly #busy: Map<string, Busy> = new Map();

  /** Has no marks yet. */
  constructor(database: Statements) {
    this.#database = database;
  }

  /** Notes whether a claim got all that it asked for. True: a mark was withdrawn, look once more. */
  async note(queue: string, owner: string, isFull: boolean): Promise<boolean> {
    const busy = this.#busy.get(queue);
    const now = performance.now();
    if (!isFull) {
      this.#busy.delete(queue);
      if (busy === undefined || busy.markedAt === null) return false;
      await this.#database.query(WITHDRAW, [owner, arrayLiteral([queue])]);
      return true;
    }
    if (busy === undefined) {
      this.#busy.set(queue, { since: now, markedAt: null });
      return false;
    }
    if (now - busy.since >= BUSY_MS && (busy.markedAt === null || now - busy.markedAt >= RENEW_MS)) {
      busy.markedAt = now;
      await this.#database.query(MARK, [queue, owner, VALID_MS]);
    }
    return false;
  }

  /** Withdraws all marks of this process. */
  async withdrawAll(owner: string): Promise<void> {
    const marked = [...this.#busy].filter(([, busy]) => busy.markedAt !== null).map(([queue]) => queue);
    this.#busy.clear();
    if (marked.length > 0) await this.#database.query(WITHDRAW, [owner, arrayLiteral(marked)]);
  }
}
