import { assertEquals } from "@std/assert";
import { cronerSchedule } from "../../adapters/croner/mod.ts";
import type { Periodic } from "../../ports/mod.ts";
import { dueTick, nextDueAt } from "../../runtime/_ticks.ts";

const nightly: Periodic = {
  name: "nightly",
  cron: "30 1 * * *",
  timezone: "America/New_York",
  handler: () => {},
};
const ms = (iso: string) => Date.parse(iso);

Deno.test("a runtime that starts between the two 01:30s of a night takes no second tick, and shows the next one", () => {
  const row = {
    name: "nightly",
    lastTickMs: ms("2026-11-01T05:30:00Z"),
    currentJobId: null,
    sinceMs: ms("2026-10-01T00:00:00Z"),
    runs: [],
    nowMs: 0,
  };
  for (
    const now of [
      "2026-11-01T05:45:00Z",
      "2026-11-01T06:29:59Z",
      "2026-11-01T06:30:00Z",
      "2026-11-01T23:00:00Z",
    ]
  ) {
    const at = { ...row, nowMs: ms(now) };
    assertEquals(dueTick(nightly, cronerSchedule, at), null, now);
    assertEquals(nextDueAt(nightly, cronerSchedule, at), ms("2026-11-02T06:30:00Z"));
  }
  const due = { ...row, nowMs: ms("2026-11-02T06:30:00Z") };
  assertEquals(dueTick(nightly, cronerSchedule, due), due.nowMs);
});
