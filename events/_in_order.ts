import type { Database, Transaction } from "../ports/database.ts";
import type { RecordedEvent } from "../ports/event.ts";
import type { OrderedSubscription, Subscribers } from "./_subscribers.ts";

/** Begins the key of the lock ("Mill"), before the number of a table: nobody else's, and another one in each schema. */
const LOCK_CLASS = 0x4d696c6c;

/**
 * A process that is frozen, or cut off, in the middle of its pass must not hold up those of all others: whether its server
 * waits for its next statement or for it to take an answer, the session ends after this time, and rolls back. (The second
 * limit is known to Linux alone; others would log at each try that they don't.)
 */
export const STILL_MS_MAX = 5000;

/**
 * Waits for the turn, or stands beside all others who do so and are waited for by whoever has it. A statement of its own: the
 * claim after it sees all that was committed in the turn before.
 */
const LOCK = `
  select
    set_config('idle_in_transaction_session_timeout', $1::text, true),
    case when version() like '%linux%' then set_config('tcp_user_timeout', $1::text, true) end,
    case
      when $3::text::boolean then pg_advisory_xact_lock($2::int, tableoid::int)
      else pg_advisory_xact_lock_shared($2::int, tableoid::int)
    end
  from {schema}.subscription_set
  limit 1`;

/** The order is wanted, and the transaction has not waited for its turn: it is to be rolled back and made again. */
class OutOfTurnError extends Error {
  override readonly name = "OutOfTurnError";
}

/**
 * Whose turn it is to fan out. While a subscription wants the order, no two passes are under way at once: they would claim
 * neighbouring batches, and the later could be committed first.
 *
 *     beside the others --> claim --> wanted? -- no --> commit
 *                                        \-- yes --> roll back --> wait for the turn --> claim --> commit
 */
export class Turn {
  readonly #subscribers: Subscribers;
  #isLikely = false;

  /** Of a process with these subscribers. */
  constructor(subscribers: Subscribers) {
    this.#subscribers = subscribers;
  }

  /** Whether the order was wanted when somebody last asked. */
  get isLikely(): boolean {
    return this.#isLikely;
  }

  /** Runs the transaction of a pass: in turn if that is likely to be needed, and again if it is and was not likely. */
  async transaction(
    database: Database,
    body: (tx: Transaction, isInTurn: boolean) => Promise<void>,
  ): Promise<void> {
    try {
      await database.transaction(async (tx) => {
        const isInTurn = this.#isLikely;
        if (this.#subscribers.ordered.length > 0) {
          await tx.unsafe(LOCK, [String(STILL_MS_MAX), LOCK_CLASS, String(isInTurn)]);
        }
        await body(tx, isInTurn);
      });
    } catch (error) {
      if (!(error instanceof OutOfTurnError)) throw error;
      await this.transaction(database, body);
    }
  }

  /**
   * Resolves to who takes the claimed events of this transaction in order. It is asked after the claim: if it is not wanted
   * then, all that was claimed was recorded before it is.
   */
  async wanted(tx: Transaction, isInTurn: boolean): Promise<OrderedSubscription[]> {
    const wanted: OrderedSubscription[] = [];
    for (const subscription of this.#subscribers.ordered) {
      if (await subscription.inOrder.isWanted(tx)) wanted.push(subscription);
    }
    this.#isLikely = wanted.length > 0;
    if (this.#isLikely && !isInTurn) throw new OutOfTurnError();
    return wanted;
  }
}

/**
 * Hands events to those who take them in order. Resolves to how many of them may be fanned out now, from the first on: what
 * somebody has left goes with the next pass.
 */
export async function takeInOrder(
  tx: Transaction,
  ordered: readonly OrderedSubscription[],
  events: readonly RecordedEvent[],
  subscribers: Subscribers,
  isAlone: boolean,
): Promise<number> {
  let count = events.length;
  for (const { name, inOrder } of ordered) {
    const places = [...events.slice(0, count).keys()].filter((place) =>
      subscribers.of(events[place]!.type).some((each) => each.name === name)
    );
    if (places.length === 0) continue;
    const taken = await inOrder.take(tx, places.map((place) => events[place]!.event_id), isAlone);
    count = places[Math.max(1, taken)] ?? count;
  }
  return count;
}
