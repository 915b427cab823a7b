import { cronerSchedule } from "../schedule.ts";

function two(cron: string, timezone: string, after: string): string[] {
  const ticks: string[] = [];
  let at = Date.parse(after);
  for (let count = 0; count < 2; count++) {
    const tick = cronerSchedule.next(cron, timezone, at);
    if (tick === null) break;
    ticks.push(new Date(tick).toISOString());
    at = tick;
  }
  return ticks;
}

const ticks = {
  processZone: new Intl.DateTimeFormat("en").resolvedOptions().timeZone,
  repeated: two("30 1 * * *", "America/New_York", "2026-10-31T12:00:00Z"),
  skipped: two("30 2 * * *", "America/New_York", "2026-03-07T12:00:00Z"),
  utc: two("0 * * * *", "UTC", "2026-10-04T02:00:00Z"),
  halfHour: two("15 2 * * *", "Australia/Lord_Howe", "2026-10-03T12:00:00Z"),
  withinRepeated: two("30 1 * * *", "America/New_York", "2026-11-01T06:15:00Z"),
  quarters: two("*/15 * * * *", "America/New_York", "2026-11-01T05:30:00Z"),
  troll: two("30 1 * * *", "Antarctica/Troll", "2026-10-24T12:00:00Z"),
};
await Deno.stdout.write(new TextEncoder().encode(JSON.stringify(ticks)));
