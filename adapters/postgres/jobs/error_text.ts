import type { SettledError } from "../../../ports/store.ts";
import { storableText } from "../sql/sql_text.ts";

/** An attempt's error as JSON text for SQL, which adds the attempt's number and the time; null when there is none. */
export function errorText(error: SettledError | null): string | null {
  if (error === null) return null;
  return JSON.stringify({
    class: error.class,
    message: storableText(error.message),
    ...(error.stack !== undefined ? { stack: storableText(error.stack) } : {}),
  });
}
