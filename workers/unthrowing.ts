import type { AttemptObserver, Log, LogFields, LogLevel } from "../ports/mod.ts";

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

/** An observer whose calls never throw: what is thrown is told to `thrown`. `ended` comes after `beforeEnd`. */
export function unthrowingObserver(
  observer: AttemptObserver,
  thrown: (error: unknown) => void,
  beforeEnd: () => void,
): AttemptObserver {
  return {
    progress: unthrowing((done, note) => observer.progress(done, note), thrown),
    ended: unthrowing((outcome) => {
      beforeEnd();
      observer.ended(outcome);
    }, thrown),
  };
}
