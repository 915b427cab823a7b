import { assertEquals } from "@std/assert";
import { cronerSchedule } from "../../adapters/croner/schedule.ts";
import { createMemoryStore } from "../../adapters/memory/memory_store.ts";
import type { LogFields } from "../../ports/log.ts";
import { TickTaker } from "../../runtime/_tick_taker.ts";
import { silentLog } from "../../shared/log.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** One service has a nightly periodic, and leads no more; another service's worker goes on. */
async function away(downMs: number): Promise<{ runs: number; lines: [string, LogFields | undefined][] }> {
  let nowMs = Date.parse("2026-11-30T12:00:00Z");
  const store = createMemoryStore({ clock: () => nowMs });
  const lines: [string, LogFields | undefined][] = [];
  const note = (event: string, fields?: LogFields) => void lines.push([event, fields]);
  const log = { ...silentLog, info: note, warn: note };
  const taker = new TickTaker({ store, schedule: cronerSchedule, log });
  const job = { kind: "close_day", queue: "nightly", priority: 2 as const, maxAttempts: 10, args: "null" };
  const schedule = { cron: "0 3 * * *", timezone: "Europe/Vienna" };
  const periodics = [{ name: "nightly", schedule, job, runAtStart: false }];
  const look = async () => {
    taker.lookAnew();
    await taker.takeDue();
  };
  await store.register({ id: "other", name: "other", queues: [] });
  await store.register({ id: "before", name: "service", queues: [], periodics });
  await look();
  await store.unregister("before");
  // Up to the next night, so that the shortest downtime has a tick in it.
  nowMs = Date.parse("2026-12-01T01:50:00Z");
  await look();
  nowMs += downMs;
  await look();
  await store.register({ id: "after", name: "service", queues: [], periodics });
  await look();
  return { runs: (await store.list({ limit: 100 })).length, lines };
}

Deno.test("a service that was away over its tick makes up for it with one run, also beside another service's worker", async () => {
  for (const downMs of [20 * 60_000, 3 * DAY_MS, 6.9 * DAY_MS]) {
    const { runs, lines } = await away(downMs);
    assertEquals(runs, 1, `${downMs} ms`);
    assertEquals(lines, [
      ["periodics are declared by no process any more, they have no ticks", {
        periodics: "nightly",
        count: 1,
      }],
      ["periodics are declared again, one run makes up for the ticks that passed", {
        periodics: "nightly",
        count: 1,
      }],
    ]);
  }
});

Deno.test("a periodic that is declared again after more than 7 days begins anew, and the log says so", async () => {
  const { runs, lines } = await away(31 * DAY_MS);
  assertEquals(runs, 0);
  assertEquals(lines.at(-1), [
    "periodics are declared again, their ticks count from now",
    { periodics: "nightly", count: 1 },
  ]);
});
