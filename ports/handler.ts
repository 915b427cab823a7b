import { errorText } from "./error_text.ts";
import type { Jobs } from "./jobs.ts";
import type { Json, JsonInput } from "./json.ts";
import type { Log } from "./log.ts";
import type { Permissions } from "./permissions.ts";
import { show } from "./show.ts";
import type { Tx } from "./tx.ts";

/**
 * Does the work of one kind. It may run more than once for one job (at least once), so it must be idempotent. Its
 * return value is kept as the job's output, at most 64 KiB of JSON.
 *
 * - return: the job is completed;
 * - `throw snooze(ms)`: the job runs again after at least that long, and no attempt is spent;
 * - `throw discard(reason)`: the job never runs again;
 * - any other throw: the job runs again after the kind's backoff, until its attempts are used up.
 */
export type Handler = (args: Json, ctx: JobContext) => Promise<JsonInput | void> | JsonInput | void;

/** A handler's context: what it knows and can do besides its args. */
export interface JobContext {
  /** The job's id, the same on every attempt. */
  readonly id: string;
  /** The job's kind. */
  readonly kind: string;
  /** The queue that the job came from. */
  readonly queue: string;
  /** The attempt's number; 1 is the first. Snoozes are not counted. */
  readonly attempt: number;
  /** How many attempts the job has in all. */
  readonly maxAttempts: number;
  /** Aborts at the timeout, on a cancel and when the runtime stops. Its reason says which. */
  readonly signal: AbortSignal;
  /** A log whose lines include the job's kind and id. */
  readonly log: Log;
  /**
   * Stores the run's progress, from 0 to 1, with a short note. It is durable and throttled: the newest call wins.
   *
   * @throws {InvalidOptionError} if `done` is not from 0 to 1.
   */
  progress(done: number, note?: string): void;
  /**
   * Completes the job in the handler's own transaction: its writes and the completion commit together or not at all.
   * Return after the commit; the returned value is not kept in this case.
   *
   * @throws {FenceLostError} if the run no longer owns the job. Roll back.
   * @throws {TransactionConflictError} in REPEATABLE READ or SERIALIZABLE, if a cancel came after the transaction
   * began. Roll back; running it again would throw a {@linkcode FenceLostError}.
   */
  completeIn(tx: Tx, output?: JsonInput): Promise<void>;
  /**
   * Enqueues and cancels jobs, for handlers of any isolation: on its own, or with `ctx.jobs.with(tx)` in the handler's
   * own transaction. Use it within the attempt. A handler of a kind with `permissions` may enqueue the kinds that
   * `permissions.enqueue` names; anything else throws an {@linkcode EnqueueNotAllowedError}.
   *
   * @example
   * ```ts
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
   * Runs another module's default export in a host process that has only the permissions given here, to sandbox part of
   * a handler. The module receives the input and `{ signal }`, which aborts when the call must end: at its time limit,
   * or with its caller. Input and output are JSON of at most 4 MiB.
   *
   * A handler of a kind with `permissions` can pass on at most its own permissions. It can call only modules that it
   * could import itself: a file in its own module graph, a file under its `read`, or a URL on a host of its `import`.
   *
   * @throws {CallNotAllowedError} if the call exceeds its caller's permissions.
   * @throws {InvalidOptionError} if an option is invalid.
   * @throws {TooLargeError} if the input is larger than 4 MiB.
   */
  call(module: string | URL, input: JsonInput, options?: CallOptions): Promise<Json>;
}

/** How {@linkcode JobContext.call} runs its module. */
export interface CallOptions {
  /** What the host process may do besides reading its own code. Default nothing. */
  readonly permissions?: Omit<Permissions, "enqueue">;
  /** The time limit of the call, in ms. Default 30,000. */
  readonly timeout?: number;
}

/**
 * Thrown with `throw snooze(ms)`. It is recognized by its mark, not its class, because each thread has its own classes.
 */
export class Snooze extends Error {
  /** The name of the class. */
  override readonly name = "Snooze";
  /** The minimum time that the job waits, in ms. */
  readonly delayMs: number;
  /** The mark that {@linkcode isSnooze} looks for. */
  readonly millraceOutcome: "snooze" = "snooze" as const;

  /** Use {@linkcode snooze}. */
  constructor(delayMs: number) {
    super(`Snoozed for ${show(delayMs)} ms`);
    this.delayMs = delayMs;
  }
}

/** Thrown with `throw discard(reason)`. */
export class Discard extends Error {
  /** The name of the class. */
  override readonly name = "Discard";
  /** Why the job can never succeed. */
  readonly reason: string;
  /** The mark that {@linkcode isDiscard} looks for. */
  readonly millraceOutcome: "discard" = "discard" as const;

  /** Use {@linkcode discard}. */
  constructor(reason: string) {
    // Untyped callers can pass the error itself as the reason.
    const text = errorText(reason);
    super(text);
    this.reason = text;
  }
}

/**
 * Throw it to run the job again after at least `delayMs`, without spending an attempt. A negative value or one that is
 * not a number counts as 0; the maximum is 10 years.
 *
 * @example
 * ```ts
 * if (!(await reportIsReady())) throw snooze(60_000);
 * ```
 */
export function snooze(delayMs: number): Snooze {
  return new Snooze(delayMs);
}

/**
 * Throw it to end the job for good, however many attempts it has left.
 *
 * @example
 * ```ts
 * if (response.status === 410) throw discard("the receiver is gone");
 * ```
 */
export function discard(reason: string): Discard {
  return new Discard(reason);
}

/** Whether a thrown value is a snooze, including one from another thread or another copy of this module. */
export function isSnooze(thrown: unknown): thrown is Snooze {
  return mark(thrown) === "snooze";
}

/** Whether a thrown value is a discard, including one from another thread or another copy of this module. */
export function isDiscard(thrown: unknown): thrown is Discard {
  return mark(thrown) === "discard";
}

function mark(thrown: unknown): unknown {
  try {
    return typeof thrown === "object" && thrown !== null ? Reflect.get(thrown, "millraceOutcome") : undefined;
  } catch {
    // Reading the property throws, so the value is neither.
  }
}
