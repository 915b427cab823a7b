import {
  ARGS_BYTES_MAX,
  type Composition,
  DELAY_MS_MAX,
  type EnqueueRequest,
  InvalidOptionError,
  type Kind,
  LIST_LIMIT_MAX,
  type NewJob,
  toJsonText,
  UndeclaredKindError,
  UndeclaredQueueError,
} from "../ports/mod.ts";

/** The latest instant that a job can be scheduled for: what every store and every date library can hold. */
const LATEST_MS = Date.UTC(9999, 11, 31);
const EARLIEST_MS = Date.UTC(1, 0, 1);

/**
 * Turns a request into a job to be written. All that can be wrong with it is found here, before any SQL is sent.
 *
 * @throws as {@linkcode Jobs.enqueue} says.
 */
export function newJob(composition: Composition, request: EnqueueRequest): NewJob {
  const kind = composition.kinds.get(request.kind);
  if (kind === undefined) throw new UndeclaredKindError(String(request.kind), composition.kinds.keys());
  return {
    kind: kind.name,
    queue: queueOf(composition, kind, request.queue),
    args: toJsonText(request.args ?? null, { name: "args", maxBytes: ARGS_BYTES_MAX }),
    priority: priorityOf(request.priority),
    maxAttempts: kind.maxAttempts,
    runAt: runAtOf(request.runAt),
    unique: request.uniqueByArgs === true,
  };
}

/** Checks how many rows a list may return. */
export function listLimit(limit: number | undefined): number {
  const rows = limit ?? 50;
  if (Number.isInteger(rows) && rows >= 1 && rows <= LIST_LIMIT_MAX) return rows;
  throw new InvalidOptionError("limit", limit, `an integer from 1 to ${LIST_LIMIT_MAX}`);
}

/** Checks for how long is waited. */
export function waitMs(maxMs: number): number {
  if (typeof maxMs === "number" && maxMs >= 0) return Math.min(maxMs, TIMER_MS_MAX, DELAY_MS_MAX);
  throw new InvalidOptionError("maxMs", maxMs, "ms, 0 or more");
}

/** Beyond it a timer fires at once. */
const TIMER_MS_MAX = 2 ** 31 - 1;

function queueOf(composition: Composition, kind: Kind, asked: string | undefined): string {
  if (asked === undefined) return kind.queue;
  if (!composition.queues.has(asked)) throw new UndeclaredQueueError(asked, composition.queues.keys());
  return asked;
}

function priorityOf(priority: number | undefined): number {
  if (priority === undefined) return 2;
  if (Number.isInteger(priority) && priority >= 1 && priority <= 4) return priority;
  throw new InvalidOptionError("priority", priority, "1 (first), 2, 3 or 4");
}

function runAtOf(runAt: Date | undefined): string | null {
  if (runAt === undefined) return null;
  const ms = runAt instanceof Date ? runAt.getTime() : NaN;
  if (ms >= EARLIEST_MS && ms <= LATEST_MS) return runAt.toISOString();
  throw new InvalidOptionError("runAt", runAt, "a Date from the year 1 to the year 9999");
}
