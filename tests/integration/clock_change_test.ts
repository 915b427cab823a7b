import { assertEquals } from "@std/assert";
import { cronerSchedule } from "../../adapters/croner/schedule.ts";
import { dueTick, nextTick } from "../../runtime/_ticks.ts";

const nightly = { cron: "30 1 * * *", timezone: "America/New_York" };
const ms = (iso: string) => Date.parse(iso);

Deno.test("a runtime that starts between the two 01:30s of a night takes no second tick, and shows the next one", () => {
  const taken = dueTick(
    { nextTickMs: ms("2026-11-01T05:30:00Z"), lastTickMs: null },
    nightly,
    cronerSchedule,
    ms("2026-11-01T05:30:01Z"),
  );
  assertEquals(taken, { tickMs: ms("2026-11-01T05:30:00Z"), nextTickMs: ms("2026-11-02T06:30:00Z") });
  for (
    const now of [
      "2026-11-01T05:45:00Z",
      "2026-11-01T06:29:59Z",
      "2026-11-01T06:30:00Z",
      "2026-11-01T23:00:00Z",
    ]
  ) assertEquals(nextTick(nightly, cronerSchedule, ms(now)), ms("2026-11-02T06:30:00Z"), now);
});
