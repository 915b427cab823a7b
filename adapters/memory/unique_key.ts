import type { Json } from "../../ports/json.ts";
import type { NewJob } from "../../ports/store.ts";

/** The unique key of a job: its kind and args, whatever the order of the args' keys. */
export function uniqueKey(job: NewJob): string {
  return JSON.stringify([job.kind, sorted(JSON.parse(job.args))]);
}

// Entries instead of an object: an object would put keys that look like numbers first, and could not hold __proto__.
function sorted(value: Json): unknown {
  if (Array.isArray(value)) return ["array", ...value.map(sorted)];
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  return ["object", ...entries.map(([key, inner]) => [key, sorted(inner)])];
}
