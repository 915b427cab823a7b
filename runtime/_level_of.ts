/** A trouble is told once as it begins; an outage must not fill the log with what is the same at every try. */
export function levelOf(again: boolean): "warn" | "debug" {
  return again ? "debug" : "warn";
}
