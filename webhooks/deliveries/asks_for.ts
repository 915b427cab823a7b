import { matchesGlob } from "../../shared/event_glob.ts";

/** Whether an endpoint gets events of a type. `eventTypes` are its globs as they are stored: a list as JSON text. */
export function asksFor(eventTypes: unknown, type: string): boolean {
  return (JSON.parse(String(eventTypes)) as string[]).some((glob) => matchesGlob(glob, type));
}
