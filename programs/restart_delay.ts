/** How a worker ended. */
export interface WorkerEnd {
  /** Whether it had said that it started. */
  readonly started: boolean;
  /** How long it ran, in ms. */
  readonly ranMs: number;
  /** The signal that ended it; null when it ended by itself. */
  readonly signal: Deno.Signal | null;
}

/** A worker that has run so long is followed at once. */
const STABLE_MS = 10_000;
const FIRST_MS = 500;
/** An outage that keeps a worker from starting is over for so long at most before the next one tries. */
const LONGEST_MS = 10_000;
/** What others send, the system's out-of-memory killer among them. A crash has signals of its own. */
const FROM_OUTSIDE: ReadonlySet<Deno.Signal> = new Set<Deno.Signal>([
  "SIGKILL",
  "SIGTERM",
  "SIGINT",
  "SIGHUP",
  "SIGQUIT",
]);

/**
 * How long the next worker waits after one has ended. Only starts that fail by themselves make it wait longer and longer:
 * one that worked, or that somebody killed, says nothing against the next.
 */
export class RestartDelay {
  #failedStarts = 0;

  /** A worker has ended. Returns when to start the next, in ms. */
  after({ started, ranMs, signal }: WorkerEnd): number {
    if (started) {
      this.#failedStarts = 0;
      return ranMs >= STABLE_MS ? 0 : FIRST_MS;
    }
    if (signal !== null && FROM_OUTSIDE.has(signal)) return FIRST_MS;
    return Math.min(FIRST_MS * 2 ** this.#failedStarts++, LONGEST_MS);
  }
}
