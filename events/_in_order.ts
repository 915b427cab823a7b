import type { InOrder, RecordedEvent, Subscription, Transaction } from "../ports/mod.ts";
import type { Subscribers } from "./_fanout.ts";

/** A subscription that takes events in order. */
export type OrderedSubscription = Subscription & { readonly inOrder: InOrder };

/**
 * One transaction at a time over all processes; readers and writers of the table go on. It is a statement of its own: the
 * claim after it sees all that the transaction before it has committed.
 */
const LOCK = "lock table {schema}.subscription_set in share update exclusive mode";

/**
 * A process that is frozen, or cut off, in the middle of its transaction must not hold up the fan-outs of all others: the
 * server ends its session after this time without a statement, and rolls back.
 */
const BOUND = "select set_config('idle_in_transaction_session_timeout', $1::text, true)";

/** Between two statements of a fan-out there are a few ms of work. */
const IDLE_MS_MAX = 5000;

/**
 * Resolves to the subscriptions that take this transaction's events in order. If there are any, no other fan-out is under
 * way until it ends: two at a time would claim neighbouring batches, and the later could be committed first.
 */
export async function holdOrder(tx: Transaction, subscribers: Subscribers): Promise<OrderedSubscription[]> {
  const wanted: OrderedSubscription[] = [];
  for (const subscription of subscribers.ordered) {
    if (await subscription.inOrder.isWanted(tx)) wanted.push(subscription);
  }
  if (wanted.length === 0) return wanted;
  await tx.unsafe(BOUND, [String(IDLE_MS_MAX)]);
  await tx.unsafe(LOCK, []);
  return wanted;
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
): Promise<number> {
  let count = events.length;
  for (const { name, inOrder } of ordered) {
    const places = [...events.slice(0, count).keys()].filter((place) =>
      subscribers.of(events[place]!.type).some((each) => each.name === name)
    );
    if (places.length === 0) continue;
    const taken = await inOrder.take(tx, places.map((place) => events[place]!.event_id));
    count = places[Math.max(1, taken)] ?? count;
  }
  return count;
}
