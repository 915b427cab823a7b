import { FACT } from "../recorders.ts";
import type { EventRow, JobRow, Violation } from "./evidence.ts";
import type { History } from "./history.ts";

/** An event exists if its transaction committed, and goes to each subscriber exactly once. */
export function events(history: History): Violation[] {
  return [...recorded(history), ...facts(history), ...fannedOut(history), ...ofNothing(history)];
}

function recorded({ evidence, events }: History): Violation[] {
  const found: Violation[] = [];
  for (const line of evidence.lines) {
    if (line.what === "recorded" && !events.has(line.event)) {
      found.push({ rule: "event lost", event: line.event, text: "it was acknowledged, and is not recorded" });
    }
    if (line.what === "not recorded" && events.has(line.event)) {
      found.push({
        rule: "event rolled back",
        event: line.event,
        text: "it was rolled back, and is recorded",
      });
    }
    if (line.what === "heard" && !events.has(line.event)) {
      found.push({ rule: "event of nothing", event: line.event, text: `${line.subscriber} was given it` });
    }
  }
  return found;
}

/** A fact and its event commit together. */
function facts({ evidence }: History): Violation[] {
  const facts = new Set(evidence.facts);
  const told = new Map(
    evidence.events.filter(({ tag }) => tag.startsWith(FACT)).map((row) => [row.tag, row]),
  );
  return [
    ...[...facts].filter((tag) => !told.has(tag)).map((tag): Violation => ({
      rule: "fact without event",
      text: `${tag} was committed, and its event is not recorded`,
    })),
    ...[...told].filter(([tag]) => !facts.has(tag)).map(([tag, { id }]): Violation => ({
      rule: "event without fact",
      event: id,
      text: `it is recorded, and ${tag} was never committed`,
    })),
  ];
}

function fannedOut(history: History): Violation[] {
  const { evidence } = history;
  const jobs = Map.groupBy(evidence.jobs, ({ kind, event }) => `${kind} ${event}`);
  return evidence.events.flatMap((event) => {
    if (event.fanout === null) {
      return [{
        rule: "not fanned out",
        event: event.id,
        text: `it waits, or is poisoned: ${event.lastError}`,
      }];
    }
    const expected = evidence.subscribers.filter(({ types }) => types.includes(event.type));
    const others = Object.keys(event.fanout).filter((name) => !expected.some((each) => each.name === name));
    return [
      ...others.map((name) => ({ rule: "fan-out", event: event.id, text: `${name} did not ask for it` })),
      ...expected.flatMap(({ name, coalesces }) => {
        const fault = faultOf(history, event, name, coalesces, jobs.get(`${name} ${event.id}`) ?? []);
        return fault === null ? [] : [{ rule: "fan-out", event: event.id, text: `${name}: ${fault}` }];
      }),
    ];
  });
}

function faultOf(
  { jobs, events }: History,
  event: EventRow,
  name: string,
  coalesces: boolean,
  own: readonly JobRow[],
): string | null {
  const id = event.fanout![name];
  const job = id === undefined ? undefined : jobs.get(id);
  if (job?.kind !== name) return `job ${id}, on record as its own, is ${job?.kind ?? "in no table"}`;
  if (own.length > 1) return `the jobs ${own.map((each) => each.id).join(", ")} are all its own`;
  if (job.event === event.id) return null;
  if (!coalesces || own.length > 0) return `job ${id}, on record as its own, is of the event ${job.event}`;
  const latest = events.get(job.event ?? "");
  if (latest?.subject === event.subject && latest.seq > event.seq) return null;
  return `it was joined with ${job.event}, which is not a later one of its subject`;
}

/** No subscriber has a job of an event that was never recorded. */
function ofNothing({ evidence, events }: History): Violation[] {
  const names = new Set(evidence.subscribers.map(({ name }) => name));
  return evidence.jobs.filter(({ kind, event }) => names.has(kind) && !events.has(event ?? ""))
    .map(({ id, kind, event }) => ({
      rule: "event of nothing",
      job: id,
      text: `${kind} has a job of the event ${event}, which is not recorded`,
    }));
}
