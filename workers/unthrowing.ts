import type { Attempt, AttemptObserver, AttemptOutcome } from "../ports/executor.ts";
import type { Log, LogFields, LogLevel } from "../ports/log.ts";

// What whoever uses an executor hands in is called in the middle of batches of reports. One call of it that throws
// must not drop the reports behind it, so none of these calls can.

/** A log whose calls never throw: a line that can't be written is dropped. */
export function unthrowingLog(log: Log): Log {
  const at = (level: LogLevel) => (event: string, fields?: LogFields): void => {
    try {
      log[level](event, fields);
    } catch {
      // Nobody reads it any more, and there is nowhere else to tell.
    }
  };
  return { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
}

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
