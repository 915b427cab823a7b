import { format } from "node:util";
import type { Log } from "../ports/log.ts";

/** The executor's prefix: kind and job id, the kind alone, or neither. A kind with a `]` in its name is cut there. */
const PREFIXED = /^\[([^\]]*)\] (.*)$/s;
const NO_KIND = "a handler";

/** Makes a log line with the event `output` of each line that a handler printed. For the executor's `output`. */
export function outputToLog(log: Log): (line: string) => void {
  return (line) => {
    const [, name, text] = PREFIXED.exec(line) ?? [];
    if (name === undefined || text === undefined) return log.info("output", { text: line });
    if (name === NO_KIND) return log.info("output", { text });
    const [, kind, jobId] = /^(.*) (\d+)$/s.exec(name) ?? [];
    log.info("output", kind === undefined ? { kind: name, text } : { kind, jobId: jobId!, text });
  };
}

/** What function handlers and the application itself print in the main thread. Whose it is can't be told there. */
export function consoleToLog(log: Log): void {
  for (const method of ["debug", "log", "info", "warn", "error"] as const) {
    Reflect.set(console, method, (...parts: unknown[]) => log.info("output", { text: format(...parts) }));
  }
}
