/** The message of whatever was thrown. */
export function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** A trouble is told once as it begins; an outage must not fill the log with what is the same at every try. */
export function levelOf(again: boolean): "warn" | "debug" {
  return again ? "debug" : "warn";
}
