import { assertEquals } from "@std/assert";
import type { Schedule } from "../ports/schedule.ts";
import type { DeclaredPeriodic, PeriodicRow, PeriodicSchedule } from "../ports/store.ts";
import { AWAY_MS_MAX, type Declaration, isAhead, planOf } from "./_periodic_plan.ts";

const HOUR_MS = 3_600_000;
const NOW_MS = 1000 * HOUR_MS + 1234;

const schedule: Schedule = {
  check: () => {},
  next: (_cron, _timezone, afterMs) => (Math.floor(afterMs / HOUR_MS) + 1) * HOUR_MS + 60_000,
};

const HOURLY = { every: HOUR_MS };
const DAILY = { every: 24 * HOUR_MS };
const JOB = { kind: "k", queue: "q", priority: 2, maxAttempts: 1, args: "null" };

function declared(
  change: Partial<DeclaredPeriodic> & { schedule?: PeriodicSchedule } = {},
  atMs = 1000,
): Declaration {
  return { atMs, periodic: { name: "p", schedule: HOURLY, job: JOB, runAtStart: false, ...change } };
}

function row(change: Partial<PeriodicRow> = {}): PeriodicRow {
  return {
    name: "p",
    version: "7",
    spec: { schedule: HOURLY, job: JOB },
    declaredMs: 1000,
    undeclaredMs: null,
    pausedMs: null,
    nextTickMs: 1001 * HOUR_MS,
    lastTickMs: 1000 * HOUR_MS,
    sinceMs: 0,
    currentJobId: null,
    runs: [],
    ...change,
  };
}

const plan = (stored: PeriodicRow | undefined, ...declarations: Declaration[]) =>
  planOf({ row: stored, declarations, schedule, nowMs: NOW_MS });

Deno.test("planOf() makes what is new, with its next tick, or the present one where it runs at start", () => {
  const made = plan(undefined, declared());
  assertEquals([made!.version, made!.nextTickMs, made!.isDeclared], [null, 1001 * HOUR_MS, true]);
  assertEquals(plan(undefined, declared({ runAtStart: true }))!.nextTickMs, 1000 * HOUR_MS);
  const cron = { cron: "1 * * * *", timezone: "UTC" };
  assertEquals(plan(undefined, declared({ runAtStart: true, schedule: cron }))!.nextTickMs, NOW_MS);
  assertEquals(plan(undefined), null);
});

Deno.test("planOf() leaves alone what is as declared, also when it is long due", () => {
  assertEquals(plan(row(), declared()), null);
  assertEquals(plan(row({ nextTickMs: 5 * HOUR_MS, lastTickMs: 4 * HOUR_MS }), declared()), null);
  assertEquals(plan(row(), declared({ runAtStart: true }, 5000)), null);
  assertEquals(plan(row({ pausedMs: 5, nextTickMs: null }), declared()), null);
});

Deno.test("planOf() counts a changed schedule from now, and runs it not for a tick that it never had", () => {
  const due = row({ spec: { schedule: DAILY, job: JOB }, nextTickMs: 990 * HOUR_MS });
  const changed = plan(due, declared({ runAtStart: true }, 2000));
  assertEquals([changed!.nextTickMs, changed!.countsAnew, changed!.declaredMs], [1001 * HOUR_MS, true, 2000]);
});

Deno.test("planOf() takes over another job and leaves the ticks as they are", () => {
  const due = row({ nextTickMs: 999 * HOUR_MS });
  const changed = plan(due, declared({ job: { ...JOB, queue: "other" } }, 2000));
  assertEquals([changed!.nextTickMs, changed!.countsAnew], [999 * HOUR_MS, false]);
  assertEquals(changed!.spec.job.queue, "other");
});

Deno.test("planOf() keeps the last declaration while a living process makes it, whoever else lives", () => {
  const stored = row({ declaredMs: 3000 });
  const other = (atMs: number) => declared({ schedule: DAILY }, atMs);
  assertEquals(plan(stored, declared({}, 3000), other(2000)), null);
  assertEquals(plan(stored, other(2000), declared({}, 1500))!.spec.schedule, HOURLY);
  assertEquals(plan(stored, other(4000), declared({}, 3000))!.spec.schedule, DAILY);
  const left = plan(stored, other(2000))!;
  assertEquals([left.spec.schedule, left.countsAnew, left.declaredMs], [DAILY, true, 2000]);
  // Who declares the same later moves the date, for an older declaration must not win when it goes.
  const renewed = plan(stored, declared({}, 5000), other(4000))!;
  assertEquals([renewed.declaredMs, renewed.countsAnew, renewed.nextTickMs], [5000, false, 1001 * HOUR_MS]);
});

Deno.test("planOf() takes the ticks of what nobody declares any more, once", () => {
  const gone = plan(row({ nextTickMs: 5 * HOUR_MS }))!;
  assertEquals([gone.isDeclared, gone.nextTickMs, gone.spec.schedule], [false, null, HOURLY]);
  assertEquals(plan(row({ undeclaredMs: 5, nextTickMs: null })), null);
  assertEquals(plan(row({ spec: null, nextTickMs: null })), null);
});

Deno.test("planOf() counts what returns from now, unless it was away for no longer than a program may be down", () => {
  const away = (ms: number) =>
    row({ undeclaredMs: NOW_MS - ms, nextTickMs: null, lastTickMs: 990 * HOUR_MS });
  const back = plan(away(AWAY_MS_MAX), declared())!;
  assertEquals([back.nextTickMs, back.countsAnew, back.isDeclared], [991 * HOUR_MS, false, true]);
  const returned = plan(away(AWAY_MS_MAX + 1), declared())!;
  assertEquals([returned.nextTickMs, returned.countsAnew], [1001 * HOUR_MS, true]);
  assertEquals(plan({ ...away(Infinity), undeclaredMs: Infinity }, declared())!.nextTickMs, 1001 * HOUR_MS);
  // Its ticks counted from a time after its last one.
  const young = { ...away(0), sinceMs: 995 * HOUR_MS };
  assertEquals(plan(young, declared())!.nextTickMs, 996 * HOUR_MS);
});

Deno.test("planOf() makes up for ticks that were missed while another program lived, as while none did", () => {
  const [tickMs, lastTickMs] = [1000 * HOUR_MS, 998 * HOUR_MS];
  for (const awayMs of [20 * 60_000, 6 * 24 * HOUR_MS]) {
    const back = plan(row({ undeclaredMs: NOW_MS - awayMs, nextTickMs: null, lastTickMs }), declared())!;
    assertEquals([back.nextTickMs, back.countsAnew], [tickMs - HOUR_MS, false]);
  }
  const month = 30 * 24 * HOUR_MS;
  const added = plan(row({ undeclaredMs: NOW_MS - month, nextTickMs: null, lastTickMs }), declared())!;
  assertEquals([added.nextTickMs, added.countsAnew], [tickMs + HOUR_MS, true]);
});

Deno.test("planOf() goes on where a program was that stored no schedules", () => {
  const old = row({ spec: null, declaredMs: null, nextTickMs: null, lastTickMs: 998 * HOUR_MS });
  assertEquals(plan(old, declared({ runAtStart: true }))!.nextTickMs, 999 * HOUR_MS);
  assertEquals(plan({ ...old, lastTickMs: null }, declared())!.nextTickMs, 1001 * HOUR_MS);
  assertEquals(
    plan({ ...old, lastTickMs: null }, declared({ runAtStart: true }))!.nextTickMs,
    1000 * HOUR_MS,
  );
  for (const lastTickMs of [Infinity, -Infinity, 2000 * HOUR_MS]) {
    assertEquals(plan({ ...old, lastTickMs }, declared())!.nextTickMs, 1001 * HOUR_MS);
  }
});

Deno.test("planOf() counts from now where the next tick is further ahead than it can be", () => {
  for (const nextTickMs of [1002 * HOUR_MS, Infinity]) {
    assertEquals(isAhead(row({ nextTickMs }), schedule, NOW_MS), true);
    assertEquals(plan(row({ nextTickMs }), declared())!.nextTickMs, 1001 * HOUR_MS);
  }
  assertEquals(isAhead(row(), schedule, NOW_MS), false);
});
