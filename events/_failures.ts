import type { Database } from "../ports/database.ts";
import { errorText } from "../ports/error_text.ts";
import type { EventId } from "../ports/event.ts";
import type { Log } from "../ports/log.ts";
import { isBadValue } from "../shared/outage.ts";
import { asciiText } from "../shared/text.ts";
import type { EventSettings } from "./settings.ts";

/** How often the fan-out of an event may fail before it is set aside. */
export const FAILURES_MAX = 5;

const ERROR_LENGTH_MAX = 8 * 1024;

/** A row that somebody holds is left as it is: the next pass finds it again. */
const NOTE = `
  update {schema}.outbox
  set
    failures = failures + 1,
    last_error = $2::text,
    retry_at = clock_timestamp() + $3::float8 * interval '1 ms',
    poisoned_at = case when failures + 1 >= $4::int then clock_timestamp() end
  where id in (
    select id
    from {schema}.outbox
    where id = $1::text::uuid and fanned_out_at is null and poisoned_at is null
    for no key update skip locked
  )
  returning failures, type, poisoned_at is not null as poisoned`;

/** The pause after a failure, in ms; the first is 1. */
export function backoffMs(failures: number, settings: EventSettings): number {
  return Math.min(settings.backoffMs * 2 ** Math.min(failures - 1, 20), settings.backoffMaxMs);
}

/** No pause of any process is longer, in ms, whatever settings it has while a deploy rolls. */
export function retryMsMax({ backoffMaxMs }: EventSettings): number {
  return Math.max(10 * backoffMaxMs, 10 * 60_000);
}

/** Notes that an event could not be fanned out. Resolves to in how many ms it is tried again; null when never. */
export async function noteFailure(
  database: Database,
  event: { readonly id: EventId; readonly failures: number },
  error: unknown,
  settings: EventSettings,
  log: Log,
): Promise<number | null> {
  const reason = errorText(error).replaceAll("\0", "\uFFFD").toWellFormed().slice(0, ERROR_LENGTH_MAX);
  const againMs = backoffMs(event.failures + 1, settings);
  const note = (text: string) => database.query(NOTE, [event.id, text, againMs, FAILURES_MAX]);
  const [row] = await note(reason).catch((refused) => {
    if (!isBadValue(refused)) throw refused;
    // The database's encoding lacks a character of the reason: the rest of it is worth more than none.
    return note(asciiText(reason));
  });
  if (row === undefined) return againMs;
  const fields = { eventId: event.id, type: String(row.type), failures: Number(row.failures), error: reason };
  if (row.poisoned === true) {
    log.error("event poisoned: it is not fanned out until it is requeued", fields);
    return null;
  }
  log.warn("event not fanned out, trying again", { ...fields, inMs: againMs });
  return againMs;
}
