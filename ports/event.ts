import type { Backoff } from "./backoff.ts";
import type { JobContext } from "./handler.ts";
import type { Json, JsonInput } from "./json.ts";
import type { DebounceRule, UniqueRule } from "./key_rule.ts";
import type { Permissions } from "./permissions.ts";
import type { Tx } from "./tx.ts";

/** The id of a recorded event: a UUID whose first digits are its time, so that newer ones sort last. */
export type EventId = string;

/**
 * A sort of fact that one domain tells the others. Each type has one owner: the registrar that declares it.
 *
 * @example
 * ```ts
 * import type { EventType } from "@millrace/millrace";
 * const placed: EventType = {
 *   type: "order.placed",
 *   description: "A customer has placed an order. Data: { total } in cents.",
 *   subject: "the order's id",
 * };
 * ```
 */
export interface EventType {
  /** Unique, stable, dotted, a noun and then a verb: `order.placed`. Letters, digits, `_` and `-`; at most 128. */
  readonly type: string;
  /** What has happened, and what `data` holds, for whoever subscribes. */
  readonly description: string;
  /** What the subject of such an event is: `the order's id`. */
  readonly subject: string;
  /** Whether it may leave the house through webhooks. Default `internal`: it may not. */
  readonly exposure?: "internal" | "webhook";
}

/** A fact to be recorded. */
export interface EventDraft {
  /** A declared type. */
  readonly type: string;
  /** What it is about: at most 512 characters. */
  readonly subject: string;
  /**
   * To whom it belongs: a tenant, an account. Left out or null, nobody in particular; `undefined` is refused.
   * At most 512 characters.
   */
  readonly ownerId?: string | null;
  /** JSON of at most 1 MiB less 16 KiB. Default null. */
  readonly data?: JsonInput;
}

/**
 * An event as a subscriber's handler receives it: its args. An event may come more than once, always under the same
 * `event_id`, and events come in no order, so a handler is idempotent by that id.
 *
 * A type and not an interface, so that it can stand where JSON is asked for.
 */
export type RecordedEvent = {
  /** The same however often it comes. */
  readonly event_id: EventId;
  /** Its type. */
  readonly type: string;
  /** What it is about. */
  readonly subject: string;
  /** To whom it belongs; null when to nobody in particular. */
  readonly owner_id: string | null;
  /** When it was recorded, ISO 8601 in UTC with microseconds, on the database's clock. */
  readonly occurred_at: string;
  /** What was recorded with it. */
  readonly data: Json;
};

/** Handles the events of one subscription, in the main thread. Idempotent by `event_id`. */
export type EventHandler = (
  event: RecordedEvent,
  ctx: JobContext,
) => Promise<JsonInput | void> | JsonInput | void;

/**
 * Who is told of which events. Data, handed over at construction. It becomes a kind of the same name: every matching
 * event is one job of it. It sees what is recorded after it was deployed, and nothing older.
 *
 * @example
 * ```ts
 * import type { Subscription } from "@millrace/millrace";
 * const mail: Subscription = {
 *   name: "order.mail",
 *   types: ["order.*"],
 *   handler: new URL("./order_mail.ts", import.meta.url),
 * };
 * ```
 */
export interface Subscription {
  /** Unique among kinds and subscriptions, stable (it is stored on rows), at most 128 characters. */
  readonly name: string;
  /**
   * Globs of event types, at least one; each must match a declared type. `*` as the last segment matches one or more
   * segments, elsewhere exactly one: `order.*` matches `order.placed` and `order.item.added`.
   */
  readonly types: readonly string[];
  /** `webhook`: of those, only the types that are exposed to webhooks; there need be none. Default all. */
  readonly exposure?: "webhook";
  /** A module whose default export gets a {@linkcode RecordedEvent}, or a function. As for a `Kind` otherwise. */
  readonly handler: EventHandler | string | URL;
  /** One job per subject and batch, for its latest event, where several wait. Default false: a job for every event. */
  readonly coalesce?: boolean;
  /** Whether its jobs carry the event's data. `false` for a subscriber that reads it elsewhere: `data` is null. Default true. */
  readonly data?: boolean;
  /** What it does in the order of the events, beside its jobs, which come in any order. Default nothing. */
  readonly inOrder?: InOrder;
  /** A queue of the queue table. Default `default`. */
  readonly queue?: string;
  /** 1 (first) to 4, within its queue. Default 2. */
  readonly priority?: 1 | 2 | 3 | 4;
  /** How many tries a job has, 1 to 1,000,000. Default 10. */
  readonly maxAttempts?: number;
  /** The limit of one attempt, in ms; above 0 and at most 10 years. Default 30,000. */
  readonly timeout?: number;
  /** As for a `Kind`. */
  readonly backoff?: Backoff;
  /** As for a `Kind`. */
  readonly isolation?: "thread" | "process";
  /** As for a `Kind`. */
  readonly permissions?: Permissions;
  /** As for a `Kind`. */
  readonly memory?: number;
  /** As for a `Kind`. */
  readonly ownThread?: boolean;
  /** As for a `Kind`, with `by`: paths of the event, such as `subject` or `data.orderId`. */
  readonly unique?: UniqueRule;
  /** As for a `Kind`, with `by`: paths of the event, such as `subject` or `data.orderId`. */
  readonly debounce?: DebounceRule;
}

/**
 * What a subscription does in the order of the events: a part of the fan-out itself, in its transaction. While it is wanted
 * the fan-outs of all processes come one after the other, so an event that was recorded after another one's commit never
 * gets before it, unless the fan-out of the other one failed. The server ends a transaction that makes no statement for 5 s.
 * Only on PostgreSQL; the memory runtime leaves it out.
 *
 * @example
 * ```ts
 * import type { InOrder } from "@millrace/millrace";
 * const ledger: InOrder = {
 *   isWanted: () => Promise.resolve(true),
 *   take: async (tx, eventIds) => {
 *     for (const id of eventIds) await tx.unsafe("insert into ledger (event_id) values ($1::text::uuid)", [id]);
 *     return eventIds.length;
 *   },
 * };
 * ```
 */
export interface InOrder {
  /** Whether anybody wants the order now. Asked in every fan-out: it must be cheap. */
  isWanted(tx: Tx): Promise<boolean>;
  /**
   * Gets the ids of some events that the subscription is to have, in the order in which they were recorded, at most 200.
   * Resolves to how many it took, from the first on and at least one, so that it can bound the transaction: the others come
   * again. When it throws, they are tried one by one, each with `isAlone`: then it leaves what is refused to its job, so that
   * nobody else goes without the event. One that fails again and again all the same is set aside as poisoned.
   */
  take(tx: Tx, eventIds: readonly EventId[], isAlone: boolean): Promise<number>;
}

/**
 * Says which of some old events are still needed: their ids, of those that are given. Retention asks inside of its own
 * transaction before it deletes them.
 */
export type EventKeeper = (tx: Tx, eventIds: readonly EventId[]) => Promise<readonly EventId[]>;

/** Records facts. An event is always written first, in the same transaction as the change that it tells of. */
export interface Recorder {
  /**
   * A copy that works inside the caller's open transaction: an event exists if and only if it commits. The original is
   * left as it was; it records in a transaction of its own, for facts that come with no change.
   */
  with(tx: Tx): Recorder;

  /**
   * Records one event and resolves to its id.
   *
   * @throws {UndeclaredEventTypeError} the type is not declared.
   * @throws {InvalidJsonError} the data is not JSON; nothing was sent.
   * @throws {TooLargeError} the data, the subject or the owner is too large; nothing was sent.
   */
  record(draft: EventDraft): Promise<EventId>;

  /** Records many, all or none, in one statement; the ids are in the order of the drafts. */
  recordMany(drafts: readonly EventDraft[]): Promise<EventId[]>;
}
