/** Fields of a log line. Secrets and args are never among them. */
export type LogFields = Readonly<Record<string, string | number | boolean | null | undefined>>;

/** The four levels, in rising order. */
export type LogLevel = "debug" | "info" | "warn" | "error";

/** A structured log: what happened, to which job, what happens next. */
export interface Log {
  /** For whoever develops. */
  debug(event: string, fields?: LogFields): void;
  /** Life-cycle: started, leading, stopping. */
  info(event: string, fields?: LogFields): void;
  /** Something went wrong and is being handled. */
  warn(event: string, fields?: LogFields): void;
  /** Something went wrong and a person should look. */
  error(event: string, fields?: LogFields): void;
}

/** What {@linkcode createLog} needs. */
export interface LogOptions {
  /** Takes one finished line, without a newline. */
  readonly write: (line: string) => void;
  /** The lowest level that is written. Default `info`. */
  readonly level?: LogLevel;
}
