import { assertEquals } from "@std/assert";
import type { Event, Line } from "../journal.ts";
import type { EventRow, Evidence, JobRow } from "./evidence.ts";
import { check } from "./mod.ts";

/** When a sample begins, ms since the epoch. */
export const BEGAN = 1_700_000_000_000;
const STEP_MS = 100;

/** A job that completed at its first attempt, by the execution `a`. */
export function job(change: Partial<JobRow> = {}): JobRow {
  return {
    ...{ id: "1", kind: "steady", state: "completed", attempt: 1, maxAttempts: 3, run: 1, snoozes: 0 },
    ...{
      tag: "t",
      key: null,
      thing: null,
      event: null,
      errors: [],
      output: "a",
      scheduledAt: BEGAN,
      enqueuedAt: BEGAN,
      finishedAt: BEGAN + 1000,
    },
    ...change,
  };
}

/** An event that nobody has been told of. */
export function recordedEvent(change: Partial<EventRow> = {}): EventRow {
  return {
    ...{ id: "e", seq: 1, type: "fact.told", subject: "s", tag: "alone 1", fanout: null, lastError: null },
    occurredAt: BEGAN,
    ...change,
  };
}

/** A handler begins. */
export const start = (execution: string, change: Partial<Event & { what: "start" }> = {}): Event => ({
  ...{ what: "start", execution, id: "1", kind: "steady", attempt: 1, pid: 10, runtime: 10 },
  ...change,
});
/** A handler is still there. */
export const alive = (execution: string): Event => ({ what: "alive", execution });
/** A handler ends. */
export const end = (execution: string, how: (Event & { what: "end" })["how"] = "return"): Event => ({
  what: "end",
  execution,
  how,
});
/** The job is acknowledged. */
export const enqueued: Event = { what: "enqueued", id: "1" };
/** A process is frozen for long. */
export const frozen: readonly Event[] = [
  { what: "out", pid: 10, why: "frozen" },
  ...Array.from({ length: 50 }, (): Event => ({ what: "fault", name: "time passes" })),
];
/** An attempt that failed. */
export function failed(
  attempt: number,
  failure: JobRow["errors"][number]["class"],
  after = 0,
): JobRow["errors"][number] {
  return { attempt, class: failure, at: new Date(BEGAN + after).toISOString() };
}

/** The rules that the proof of a sample finds broken. */
function rules(events: readonly Event[], jobs: readonly JobRow[], more: Partial<Evidence> = {}): string[] {
  const lines = events.map((event, index): Line => ({ ...event, at: BEGAN + index * STEP_MS }));
  const { violations } = check({
    ...{ lines, jobs, effects: [], orders: [], changes: [], periods: {}, lostAfterMs: 4000, sharedKeys: [] },
    ...{
      events: [],
      facts: [],
      subscribers: [],
      endpoints: [],
      exposed: [],
      deliveries: [],
      givenUp: [],
      replays: [],
    },
    ...more,
  });
  return violations.map(({ rule }) => rule);
}

/** What happened and what the tables say, and the rules that this breaks. */
export interface Sample {
  readonly name: string;
  readonly events: readonly Event[];
  readonly jobs: readonly JobRow[];
  readonly more?: Partial<Evidence>;
  readonly broken: readonly string[];
}

/** Proves each of them. */
export function prove(samples: readonly Sample[]): void {
  for (const { name, events, jobs, more, broken } of samples) {
    Deno.test(`the proof of a run: ${name}`, () => assertEquals(rules(events, jobs, more), broken));
  }
}
