import { assertEquals } from "@std/assert";
import { cronerSchedule } from "./schedule.ts";
import { assertTicks, changesOf, HOUR_RULES, reckon } from "./reckoning_test.ts";

/** Half an hour, two hours, at midnight, in the southern hemisphere, twice within a month, by three quarters of an hour. */
const ZONES = [
  "America/New_York",
  "Europe/Vienna",
  "Australia/Lord_Howe",
  "Antarctica/Troll",
  "Africa/Cairo",
  "America/Santiago",
  "Africa/Casablanca",
  "Pacific/Chatham",
];

for (const zone of ZONES) {
  Deno.test(`next() gives the ticks that a look at every minute finds where the clocks of ${zone} change`, () => {
    const changes = changesOf(zone, 2026, 2027);
    assertEquals(changes.length >= 2, true, "there are none");
    for (const change of changes) for (const rule of HOUR_RULES) assertTicks(rule, change);
  });
}

Deno.test("next() gives the same tick from wherever it is asked", () => {
  for (const zone of ["Antarctica/Troll", "Australia/Lord_Howe"]) {
    for (const change of changesOf(zone, 2026, 2027)) {
      for (const rule of HOUR_RULES) {
        const fromMs = change.atMs - 4 * 3_600_000;
        const ticks = reckon(rule, change, fromMs, change.atMs + 30 * 3_600_000);
        for (let ms = fromMs; ms < change.atMs + 4 * 3_600_000; ms += 7 * 60_000 + 1) {
          const expected = ticks.find((tick) => tick > ms);
          if (expected === undefined) continue;
          const found = cronerSchedule.next(rule.cron, zone, ms);
          assertEquals(found, expected, `${rule.cron} in ${zone} after ${new Date(ms).toISOString()}`);
        }
      }
    }
  }
});
