/** The message of whatever was thrown, for a log. Never throws, whatever it is. */
export function errorText(error: unknown): string {
  try {
    return String(error instanceof Error ? error.message : error);
  } catch {
    return "a value that can't be told as text";
  }
}
