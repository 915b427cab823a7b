import type { Attempt, AttemptObserver, AttemptOutcome } from "../ports/executor.ts";

// An executor calls its caller's functions in the middle of batches of reports. One that throws must not drop the
// reports behind it, so none of these calls can.

/** A function whose calls never throw: what is thrown is told to `thrown`. */
export function unthrowing<Args extends unknown[]>(
  call: (...args: Args) => void,
  thrown: (error: unknown) => void,
): (...args: Args) => void {
  return (...args) => {
    try {
      call(...args);
    } catch (error) {
      thrown(error);
    }
  };
}

/** An observer whose calls never throw: what is thrown is told to `threw`. One small object, for each attempt has one. */
export class UnthrowingObserver implements AttemptObserver {
  readonly #observer: AttemptObserver;
  readonly #attempt: Attempt;
  readonly #threw: (attempt: Attempt, error: unknown) => void;

  /** Wraps the observer of an attempt. */
  constructor(
    observer: AttemptObserver,
    attempt: Attempt,
    threw: (attempt: Attempt, error: unknown) => void,
  ) {
    this.#observer = observer;
    this.#attempt = attempt;
    this.#threw = threw;
  }

  /** The handler told its progress. */
  progress(done: number, note: string | undefined): void {
    try {
      this.#observer.progress(done, note);
    } catch (error) {
      this.#threw(this.#attempt, error);
    }
  }

  /** The attempt has ended. */
  ended(outcome: AttemptOutcome): void {
    try {
      this.#observer.ended(outcome);
    } catch (error) {
      this.#threw(this.#attempt, error);
    }
  }
}
