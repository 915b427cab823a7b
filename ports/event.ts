import type { Backoff } from "./backoff.ts";
import type { JobContext } from "./handler.ts";
import type { Json, JsonInput } from "./json.ts";
import type { DebounceRule, UniqueRule } from "./key_rule.ts";
import type { Permissions } from "./permissions.ts";
import type { Tx } from "./tx.ts";

/** The id of a recorded event: a UUID that begins with its time, so newer ids sort last. */
export type EventId = string;

/**
 * A type of fact that one domain publishes to the others. Each type has one owner: the registrar that declares it.
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
  /**
   * The unique, stable, dotted name, a noun and then a verb: `order.placed`. Letters, digits, `_` and `-`; at most 128
   * characters.
   */
  readonly type: string;
  /** What happened, and what `data` contains. Written for subscribers. */
  readonly description: string;
  /** What the subject of such an event is: `the order's id`. */
  readonly subject: string;
  /** `webhook` allows the type to be sent outside through webhooks. Default `internal`, which does not. */
  readonly exposure?: "internal" | "webhook";
}

/** A fact to record. */
export interface EventDraft {
  /** A declared type. */
  readonly type: string;
  /** The thing that the event is about: at most 512 characters. */
  readonly subject: string;
  /**
   * The event's owner: for example a tenant or an account. Omitted or null means no owner; `undefined` is refused. At
   * most 512 characters.
   */
  readonly ownerId?: string | null;
  /** JSON of at most 1 MiB less 16 KiB. Default null. */
  readonly data?: JsonInput;
}

/**
 * An event as the args that a subscriber's handler receives. An event may arrive more than once, always with the same
 * `event_id`, and events arrive in no particular order. Make handlers idempotent by `event_id`.
 *
 * It is a type rather than an interface so that it can be used where JSON is expected.
 */
export type RecordedEvent = {
  /** The same at every delivery of the event. */
  readonly event_id: EventId;
  /** Its type. */
  readonly type: string;
  /** The thing that the event is about. */
  readonly subject: string;
  /** The event's owner; null when it has none. */
  readonly owner_id: string | null;
  /** When it was recorded, by the database's clock: ISO 8601 in UTC with microseconds. */
  readonly occurred_at: string;
  /** The data recorded with it. */
  readonly data: Json;
};

/** Handles the events of one subscription, in the main thread. It must be idempotent by `event_id`. */
export type EventHandler = (
  event: RecordedEvent,
  ctx: JobContext,
) => Promise<JsonInput | void> | JsonInput | void;

/**
 * A subscriber to event types. It is plain data, passed at construction, and becomes a kind of the same name: every
 * matching event becomes a job of that kind. A subscription receives events recorded after it was deployed, and none
 * from before.
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
  /** A name that is unique among kinds and subscriptions, and stable because rows store it; at most 128 characters. */
  readonly name: string;
  /**
   * Globs of event types, at least one; each must match a declared type. A final `*` matches one or more segments, any
   * other `*` exactly one: `order.*` matches `order.placed` and `order.item.added`.
   */
  readonly types: readonly string[];
  /** `webhook`: only those of the types that are exposed to webhooks; there may be none. Default: all of them. */
  readonly exposure?: "webhook";
  /** A function, or a module whose default export receives a {@linkcode RecordedEvent}. Otherwise as for a `Kind`. */
  readonly handler: EventHandler | string | URL;
  /**
   * Whether waiting events of one batch with the same owner and subject share one job, for the latest of them. Default
   * false: one job for every event.
   */
  readonly coalesce?: boolean;
  /**
   * Whether jobs carry the event's data. With `false`, for a subscriber that reads it elsewhere, `data` is null.
   * Default true.
   */
  readonly data?: boolean;
  /** Work to do in the order of the events, in addition to the jobs, which run in any order. Default none. */
  readonly inOrder?: InOrder;
  /** A queue from the queue table. Default `default`. */
  readonly queue?: string;
  /** 1 (first) to 4, within its queue. Default 2. */
  readonly priority?: 1 | 2 | 3 | 4;
  /** How many attempts a job has, 1 to 1,000,000. Default 10. */
  readonly maxAttempts?: number;
  /** The time limit of one attempt, in ms; above 0 and at most 10 years. Default 30,000. */
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
  /** As for a `Kind`; `by` takes paths in the event, for example `subject` or `data.orderId`. */
  readonly unique?: UniqueRule;
  /** As for a `Kind`; `by` takes paths in the event, for example `subject` or `data.orderId`. */
  readonly debounce?: DebounceRule;
}

/**
 * Work that a subscription does in the order of the events, as part of the fan-out and in its transaction. While it is
 * wanted, the fan-outs of all processes run one after another, so an event recorded after another one committed never
 * precedes it, unless the other's fan-out failed. The server ends the transaction when it runs no statement for 5 s.
 * Only on PostgreSQL; the memory runtime omits it.
 *
 * @example
 * ```ts
 * import type { InOrder } from "@millrace/millrace/ports";
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
  /** Whether the order is needed now. Every fan-out asks, so it must be cheap. */
  isWanted(tx: Tx): Promise<boolean>;
  /**
   * Receives the ids of events for the subscription, at most 200, in the order in which they were recorded. Resolves to
   * how many it took, counted from the first and at least one; the others are offered again, so it can bound the
   * transaction. When it throws, the events are tried one by one with `isAlone`: it must then leave refused events to
   * their jobs, so that other subscribers still receive them. An event that keeps failing anyway is set aside as
   * poisoned.
   */
  take(tx: Tx, eventIds: readonly EventId[], isAlone: boolean): Promise<number>;
}

/**
 * Returns which of the given old events are still needed. Retention asks inside its own transaction before it deletes
 * them.
 */
export type EventKeeper = (tx: Tx, eventIds: readonly EventId[]) => Promise<readonly EventId[]>;

/** Records facts. Always record an event first, in the transaction of the change it describes. */
export interface Recorder {
  /**
   * Returns a copy that works inside the caller's open transaction: an event exists if and only if the transaction
   * commits. The original is unchanged; it records in its own transaction, for facts that accompany no change.
   */
  with(tx: Tx): Recorder;

  /**
   * Records one event and resolves to its id.
   *
   * @throws {UndeclaredEventTypeError} if the type is not declared.
   * @throws {InvalidJsonError} if the data is not JSON; nothing was sent.
   * @throws {TooLargeError} if the data, the subject or the owner is too large; nothing was sent.
   */
  record(draft: EventDraft): Promise<EventId>;

  /** Records many events, all or none, in one statement. The ids are in the order of the drafts. */
  recordMany(drafts: readonly EventDraft[]): Promise<EventId[]>;
}
