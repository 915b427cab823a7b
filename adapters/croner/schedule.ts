import { Cron } from "./driver.ts";
import { InvalidOptionError } from "../../ports/errors.ts";
import type { Schedule } from "../../ports/schedule.ts";

const EXPRESSION = 'five fields, or six with seconds first, such as "30 1 * * *"';
const ZONE = 'an IANA time zone, such as "Europe/Vienna" or "UTC"';

/** The `Schedule` port on croner. Every tick is a whole second. */
export const cronerSchedule: Schedule = {
  check(cron: string, timezone: string): void {
    if (typeof cron !== "string" || !/^\s*\S+(\s+\S+){4,5}\s*$/.test(cron)) {
      throw new InvalidOptionError("cron", cron, EXPRESSION);
    }
    checkZone(timezone);
    let first: Date | null;
    try {
      first = parse(cron, timezone).nextRun(new Date(0));
    } catch (error) {
      throw new InvalidOptionError("cron", cron, `${EXPRESSION} (${reason(error)})`);
    }
    if (first === null) throw new InvalidOptionError("cron", cron, "an expression whose time ever comes");
  },

  next(cron: string, timezone: string, afterMs: number): number | null {
    const parsed = parse(cron, timezone);
    let tick = parsed.nextRun(new Date(afterMs));
    // Asked from within a repeated hour, croner answers with a tick of that hour's first pass, which lies behind.
    // From a tick of its own it always goes forward.
    while (tick !== null && tick.getTime() <= afterMs) tick = parsed.nextRun(tick);
    return tick === null ? null : tick.getTime();
  },
};

function parse(cron: string, timezone: string): Cron {
  return new Cron(cron, { timezone, paused: true });
}

// croner takes an empty zone for the host's, which must never decide, so the zone is checked apart.
function checkZone(timezone: string): void {
  try {
    if (typeof timezone !== "string" || !/^[A-Za-z]/.test(timezone)) throw new RangeError("no name");
    new Intl.DateTimeFormat("en", { timeZone: timezone });
  } catch {
    throw new InvalidOptionError("timezone", timezone, ZONE);
  }
}

function reason(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
