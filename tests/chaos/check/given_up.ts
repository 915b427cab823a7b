import type { GivenUpRow, Violation } from "./evidence.ts";
import { FANOUT } from "./existence.ts";
import type { History } from "./history.ts";

const SKIPPED = "skipped by hand";
/** Why deliveries are given up by a person. */
const BY_HAND: ReadonlySet<string> = new Set([
  SKIPPED,
  "the endpoint is disabled: disabled by hand",
  "its job was cancelled before it was delivered",
]);

/** What endpoints did not get until a person saw to it was disabled, cancelled or left half-way by a person before. */
export function givenUp(history: History): Violation[] {
  return [
    ...history.evidence.givenUp.flatMap((row) => without(history, row)),
    ...history.evidence.givenUp.flatMap(alert),
    ...passedBy(history),
    ...replays(history),
  ];
}

/** What was given up is an alert, unless a person did it. */
function alert({ endpoint, event, job, reason, isAlert }: GivenUpRow): Violation[] {
  const isExpected = reason !== null && !BY_HAND.has(reason);
  if (isAlert === isExpected) return [];
  const text = `to ${endpoint}: ${reason ?? "it waits"}, and it is ${isAlert ? "an alert" : "no alert"}`;
  return [{ rule: "alert", job, event, text }];
}

function without({ disabled, cancelling, brokenOff, skipped }: History, row: GivenUpRow): Violation[] {
  const { endpoint, event, job, reason, queuedAt, endedAt } = row;
  const hasCause = reason?.startsWith("the endpoint is disabled")
    ? disabled.touch(endpoint, queuedAt, endedAt ?? Infinity)
    : reason === SKIPPED
    ? skipped.has(endpoint)
    : (reason === null || reason.startsWith("its job ")) &&
      (cancelling.has(job) || brokenOff.has(endpoint));
  if (hasCause) return [];
  const how = reason === null ? "it waited, and its job had ended" : `it was discarded: ${reason}`;
  return [{ rule: "given up", job, event, text: `to ${endpoint}: ${how}, and nobody had a hand in it` }];
}

/** An event passes by an endpoint that was disabled at some time of the fan-out, or when that was cancelled. */
function passedBy({ evidence, disabled, cancelling }: History): Violation[] {
  const fanouts = new Map(
    evidence.jobs.filter(({ kind }) => kind === FANOUT).map((job) => [job.event, job]),
  );
  const made = new Set(
    evidence.deliveries.filter(({ replay }) => replay === "").map(({ endpoint, event }) =>
      `${endpoint} ${event}`
    ),
  );
  return evidence.events.filter(({ type }) => evidence.exposed.includes(type)).flatMap(({ id }) => {
    const fanout = fanouts.get(id);
    if (fanout?.state === "cancelled" && cancelling.has(fanout.id)) return [];
    return evidence.endpoints.flatMap(({ name }): Violation[] => {
      if (made.has(`${name} ${id}`)) return [];
      if (fanout !== undefined && disabled.touch(name, fanout.enqueuedAt, fanout.finishedAt ?? Infinity)) {
        return [];
      }
      return [{
        rule: "passed by",
        event: id,
        text: `${name} was not disabled, and the fan-out made it no delivery`,
      }];
    });
  });
}

function replays({ evidence }: History): Violation[] {
  return evidence.replays.filter(({ queued, deliveries }) => queued !== deliveries)
    .map(({ job, queued, deliveries }) => ({
      rule: "replay",
      job,
      text: `it says that it made ${queued} deliveries, and there are ${deliveries}`,
    }));
}
