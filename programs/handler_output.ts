import { format } from "node:util";
import type { Log } from "../ports/log.ts";

/**
 * The executor's prefix: the kind and job id, only the kind, or neither. A kind with a `]` in its name is cut there.
 */
const PREFIXED = /^\[([^\]]*)\] (.*)$/s;
const NO_KIND = "a handler";

/** Turns each line that a handler printed into a log line with the event `output`. For the executor's `output`. */
export function outputToLog(log: Log): (line: string) => void {
  return (line) => {
    const [, name, text] = PREFIXED.exec(line) ?? [];
    if (name === undefined || text === undefined) return log.info("output", { text: line });
    if (name === NO_KIND) return log.info("output", { text });
    const [, kind, jobId] = /^(.*) (\d+)$/s.exec(name) ?? [];
    log.info("output", kind === undefined ? { kind: name, text } : { kind, jobId: jobId!, text });
  };
}

/**
 * Logs what function handlers and the application itself print in the main thread. There is no way to tell which of
 * them printed it.
 */
export function consoleToLog(log: Log): void {
  for (const method of ["debug", "log", "info", "warn", "error"] as const) {
    Reflect.set(console, method, (...parts: unknown[]) => log.info("output", { text: format(...parts) }));
  }
}
