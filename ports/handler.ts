import { errorText } from "./error_text.ts";
import type { Jobs } from "./jobs.ts";
import type { Json, JsonInput } from "./json.ts";
import type { Log } from "./log.ts";
import type { Permissions } from "./permissions.ts";
import { show } from "./show.ts";
import type { Tx } from "./tx.ts";

/**
 * Does the work of one kind. It may run more than once for one job (at least once), so it is idempotent.
 * What it returns is kept as the job's output, at most 64 KiB of JSON.
 *
 * - return: the job is completed;
 * - `throw snooze(ms)`: again after at least that long, no attempt is spent;
 * - `throw discard(reason)`: never again;
 * - any other throw: again after the kind's backoff, until the attempts are used up.
 */
export type Handler = (args: Json, ctx: JobContext) => Promise<JsonInput | void> | JsonInput | void;

/** What a handler knows and can do beside its args. */
export interface JobContext {
  /** The job's id. The same on every attempt. */
  readonly id: string;
  /** The job's kind. */
  readonly kind: string;
  /** The queue that the job came from. */
  readonly queue: string;
  /** Which try this is; 1 is the first. Snoozes do not count. */
  readonly attempt: number;
  /** How many tries the job has in all. */
  readonly maxAttempts: number;
  /** Aborts at the timeout, at a cancel and when the runtime stops. Its reason says which. */
  readonly signal: AbortSignal;
  /** A log whose lines carry the job's kind and id. */
  readonly log: Log;
  /**
   * Stores how far the run is, from 0 to 1, with a short note. Durable and throttled: the newest call wins.
   *
   * @throws {InvalidOptionError} when `done` is not from 0 to 1.
   */
  progress(done: number, note?: string): void;
  /**
   * Writes the job's completion through the handler's own transaction: its writes and the completion commit
   * together or not at all. Return after it has committed; the returned value is not kept then.
   *
   * @throws {FenceLostError} when the run is no longer the job's. Roll back.
   * @throws {TransactionConflictError} in REPEATABLE READ or SERIALIZABLE, when a cancel has come since the transaction
   * began. Roll back; run again it would be a {@linkcode FenceLostError}.
   */
  completeIn(tx: Tx, output?: JsonInput): Promise<void>;
  /**
   * Enqueues and cancels jobs, for handlers of any isolation: by itself, or with `ctx.jobs.with(tx)` in a transaction of the
   * handler's own. Use it within the attempt. A handler of a kind with `permissions` may enqueue the kinds that
   * `permissions.enqueue` names; anything else is an {@linkcode EnqueueNotAllowedError}.
   *
   * @example
   * ```ts ignore
   * await ctx.jobs.enqueue("order.archive", { orderId });
   * await sql.begin(async (tx) => {
   *   await tx`update orders set state = 'paid' where id = ${orderId}`;
   *   await ctx.jobs.with(tx).enqueue("order.mail", { orderId });
   *   await ctx.completeIn(tx);
   * });
   * ```
   */
  readonly jobs: Jobs;
  /**
   * Runs another module's default export in a host process that has only the permissions given here. It is called with
   * the input and `{ signal }`, which aborts when the call must end: at its limit, and with its caller. Input and output
   * are JSON of at most 4 MiB. The way to a walled-off part of a handler.
   *
   * A handler of a kind with `permissions` hands on at most these, and calls only what it could import itself: a file of
   * its own module graph, a file under its `read`, a URL on a host of its `import`.
   *
   * @throws {CallNotAllowedError} the call goes beyond its caller.
   * @throws {InvalidOptionError} an option is not as it should be.
   * @throws {TooLargeError} the input is larger than 4 MiB.
   */
  call(module: string | URL, input: JsonInput, options?: CallOptions): Promise<Json>;
}

/** How {@linkcode JobContext.call} runs its module. */
export interface CallOptions {
  /** What the host process may do beside reading its own code. Default nothing. */
  readonly permissions?: Omit<Permissions, "enqueue">;
  /** The limit of the call, in ms. Default 30,000. */
  readonly timeout?: number;
}

/** What `throw snooze(ms)` throws. Known by a mark, not by its class: threads have classes of their own. */
export class Snooze extends Error {
  /** The name of the class. */
  override readonly name = "Snooze";
  /** How long the job waits at least, in ms. */
  readonly delayMs: number;
  /** The mark. */
  readonly millraceOutcome: "snooze" = "snooze" as const;

  /** Use {@linkcode snooze}. */
  constructor(delayMs: number) {
    super(`Snoozed for ${show(delayMs)} ms`);
    this.delayMs = delayMs;
  }
}

/** What `throw discard(reason)` throws. */
export class Discard extends Error {
  /** The name of the class. */
  override readonly name = "Discard";
  /** Why the job can never succeed. */
  readonly reason: string;
  /** The mark. */
  readonly millraceOutcome: "discard" = "discard" as const;

  /** Use {@linkcode discard}. */
  constructor(reason: string) {
    // Whoever writes no types may hand over the error that led to it.
    const text = errorText(reason);
    super(text);
    this.reason = text;
  }
}

/**
 * Throw it to run the job again after at least `delayMs`, without spending an attempt. Below 0 or not a number
 * counts as 0, and the most is 10 years.
 *
 * @example
 * ```ts ignore
 * if (!(await reportIsReady())) throw snooze(60_000);
 * ```
 */
export function snooze(delayMs: number): Snooze {
  return new Snooze(delayMs);
}

/**
 * Throw it to end the job for good, whatever attempts it has left.
 *
 * @example
 * ```ts ignore
 * if (response.status === 410) throw discard("the receiver is gone");
 * ```
 */
export function discard(reason: string): Discard {
  return new Discard(reason);
}

/** Whether a thrown value is a snooze, also one of another thread's or another copy of this module. */
export function isSnooze(thrown: unknown): thrown is Snooze {
  return mark(thrown) === "snooze";
}

/** Whether a thrown value is a discard, also one of another thread's or another copy of this module. */
export function isDiscard(thrown: unknown): thrown is Discard {
  return mark(thrown) === "discard";
}

function mark(thrown: unknown): unknown {
  try {
    return typeof thrown === "object" && thrown !== null ? Reflect.get(thrown, "millraceOutcome") : undefined;
  } catch {
    // It throws when it is looked at, so it is neither.
  }
}
