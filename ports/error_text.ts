/** The message of whatever was thrown, for a log. */
export function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
