/** How a worker ended. */
export interface WorkerEnd {
  /** Whether it had reported that it started. */
  readonly started: boolean;
  /** How long it ran, in ms. */
  readonly ranMs: number;
  /** The signal that ended it; null when it exited on its own. */
  readonly signal: Deno.Signal | null;
}

/** A worker that has run this long is replaced immediately. */
const STABLE_MS = 10_000;
const FIRST_MS = 500;
/**
 * The longest delay, so that workers try again at most this long after an outage that kept them from starting is over.
 */
const LONGEST_MS = 10_000;
/** Signals that others send, including the system's out-of-memory killer. A crash has other signals. */
const FROM_OUTSIDE: ReadonlySet<Deno.Signal> = new Set<Deno.Signal>([
  "SIGKILL",
  "SIGTERM",
  "SIGINT",
  "SIGHUP",
  "SIGQUIT",
]);

/**
 * Decides how long the next worker waits after one has ended. Only starts that fail on their own increase the delay: a
 * worker that worked, or that someone killed, says nothing about the next.
 */
export class RestartDelay {
  #failedStarts = 0;

  /** Records that a worker has ended. Returns the delay before the next start, in ms. */
  after({ started, ranMs, signal }: WorkerEnd): number {
    if (started) {
      this.#failedStarts = 0;
      return ranMs >= STABLE_MS ? 0 : FIRST_MS;
    }
    if (signal !== null && FROM_OUTSIDE.has(signal)) return FIRST_MS;
    return Math.min(FIRST_MS * 2 ** this.#failedStarts++, LONGEST_MS);
  }
}
