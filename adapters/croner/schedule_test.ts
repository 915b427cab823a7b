import { assert, assertEquals, assertInstanceOf, assertStringIncludes, assertThrows } from "@std/assert";
import { InvalidOptionError } from "../../ports/errors.ts";
import { cronerSchedule } from "./schedule.ts";

const ZONES = ["UTC", "Australia/Sydney", "America/New_York"];

for (const zone of ZONES) {
  Deno.test(`next() gives the documented ticks when clocks change, in a process whose zone is ${zone}`, async () => {
    const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["run", "--allow-env", new URL("./testdata/ticks.ts", import.meta.url).href],
      env: { TZ: zone },
    }).output();
    assertEquals(code, 0, new TextDecoder().decode(stderr));
    assertEquals(JSON.parse(new TextDecoder().decode(stdout)), {
      // Not the expected values' business, but proof that the process really was in that zone.
      processZone: zone,
      repeated: ["2026-11-01T05:30:00.000Z", "2026-11-02T06:30:00.000Z"],
      skipped: ["2026-03-08T07:30:00.000Z", "2026-03-09T06:30:00.000Z"],
      utc: ["2026-10-04T03:00:00.000Z", "2026-10-04T04:00:00.000Z"],
      halfHour: ["2026-10-03T15:45:00.000Z", "2026-10-04T15:15:00.000Z"],
      withinRepeated: ["2026-11-02T06:30:00.000Z", "2026-11-03T06:30:00.000Z"],
      quarters: ["2026-11-01T05:45:00.000Z", "2026-11-01T06:00:00.000Z"],
      troll: ["2026-10-24T23:30:00.000Z", "2026-10-26T01:30:00.000Z"],
    });
  });
}

Deno.test("next() goes past the given instant, to the millisecond", () => {
  const next = (after: string) => cronerSchedule.next("0 * * * *", "UTC", Date.parse(after));
  assertEquals(next("2026-01-01T11:59:59.999Z"), Date.parse("2026-01-01T12:00:00Z"));
  assertEquals(next("2026-01-01T12:00:00.000Z"), Date.parse("2026-01-01T13:00:00Z"));
  assertEquals(next("2026-01-01T12:00:00.500Z"), Date.parse("2026-01-01T13:00:00Z"));
});

Deno.test("next() is ahead of every minute of the days on which clocks change", () => {
  for (const [zone, day] of [["America/New_York", "2026-11-01"], ["Australia/Lord_Howe", "2026-04-04"]]) {
    const start = Date.parse(`${day}T00:00:00Z`);
    for (let minute = 0; minute < 36 * 60; minute += 7) {
      const after = start + minute * 60_000;
      const tick = cronerSchedule.next("*/30 * * * *", zone!, after);
      assert(tick !== null && tick > after, `${zone} after ${new Date(after).toISOString()}: ${tick}`);
    }
  }
});

Deno.test("next() answers null when no tick follows", () => {
  assertEquals(cronerSchedule.next("0 0 30 2 *", "UTC", 0), null);
});

Deno.test("check() takes five fields, and six with seconds first", () => {
  cronerSchedule.check("30 1 * * *", "America/New_York");
  cronerSchedule.check("*/5 * * * * *", "UTC");
  cronerSchedule.check("0 0 29 2 *", "Europe/Vienna");
});

Deno.test("check() takes nicknames, and next() gives the ticks that they stand for", () => {
  const after = Date.parse("2026-06-10T10:30:00Z");
  const next = (nickname: string) => {
    cronerSchedule.check(nickname, "UTC");
    return new Date(cronerSchedule.next(nickname, "UTC", after)!).toISOString().slice(0, 16);
  };
  assertEquals(
    ["@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly", "@Daily"].map(next),
    [
      ...["2027-01-01T00:00", "2027-01-01T00:00", "2026-07-01T00:00", "2026-06-14T00:00"],
      ...["2026-06-11T00:00", "2026-06-11T00:00", "2026-06-10T11:00", "2026-06-11T00:00"],
    ],
  );
});

Deno.test("next() answers null beyond what a Date can be", () => {
  for (const after of [Infinity, -Infinity, NaN, 8.64e15]) {
    assertEquals(cronerSchedule.next("* * * * *", "Europe/Vienna", after), null);
  }
});

for (
  const [cron, why] of [
    ["", "five fields"],
    ["bad", "five fields"],
    ["* * * *", "five fields"],
    ["0 0 0 1 1 * 2030", "five fields"],
    ["61 * * * *", "61"],
    ["0 0 30 2 *", "ever comes"],
    ["0 0 31 4,6,9,11 *", "ever comes"],
    ["0 0 0 31 APR,JUN-JUN,SEP,NOV,FEB *", "ever comes"],
    ["0 0 31 4,6,9,11 ?", "ever comes"],
    ["0 0 30,31 2 *", "ever comes"],
    ["@reboot", "@daily"],
    ["0 12 ? * ?", "only one of the two"],
    ["? 12 * * *", "minutes"],
    ["0 ? * * *", "hours"],
    ["0 12 * ? *", "months"],
    ["0 12 ? * 2-6", "MON-FRI"],
    ["0 12 ? * 6#3", "MON-FRI"],
    ["0 12 1* * *", "days of the month"],
    ["0 12 * * MONDAY", "days of the week"],
    ["0 25 * * *", "hour"],
    ["0 5/2 * * *", "hours"],
    ["0 0 * * 1#6", "days of the week"],
    [undefined as unknown as string, "five fields"],
  ] as const
) {
  Deno.test(`check() refuses the expression ${JSON.stringify(cron)} and says why`, () => {
    const error = assertThrows(() => cronerSchedule.check(cron, "UTC"));
    assertInstanceOf(error, InvalidOptionError);
    assertEquals(error.option, "cron");
    if (cron !== undefined) assertStringIncludes(error.message, JSON.stringify(cron));
    assertStringIncludes(error.message, why);
  });
}

for (const zone of ["", "Nowhere/Zone", "+02:00", undefined as unknown as string]) {
  Deno.test(`check() refuses the zone ${JSON.stringify(zone)}`, () => {
    const error = assertThrows(() => cronerSchedule.check("0 * * * *", zone));
    assertInstanceOf(error, InvalidOptionError);
    assertEquals(error.option, "timezone");
    assertStringIncludes(error.message, "IANA");
  });
}
