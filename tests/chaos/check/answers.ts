import type { JobRow, Violation } from "./evidence.ts";
import { DELIVER, FANOUT } from "./existence.ts";
import type { History } from "./history.ts";

/** What callers were told is so: the ends that `wait` told, what a cancel answered, the kinds of errors. */
export function answers(history: History): Violation[] {
  const found: Violation[] = [];
  for (const line of history.evidence.lines) {
    if (line.what === "odd") found.push({ rule: "unknown error", text: line.text });
    if (line.what !== "waited" || history.retriesOf(line.id) > 0) continue;
    const state = history.jobs.get(line.id)?.state;
    if (state === line.state) continue;
    found.push({ rule: "wait", job: line.id, text: `wait told ${line.state}, and it is ${state}` });
  }
  for (const [id, cancels] of history.cancels) {
    const job = history.jobs.get(id);
    if (job === undefined || history.retriesOf(id) > 0 || job.kind === DELIVER) continue;
    for (const { place, result } of cancels) found.push(...afterCancel(history, job, place, result));
  }
  return found;
}

function afterCancel(history: History, job: JobRow, place: number, result: string): Violation[] {
  const { id, state, kind } = job;
  // Its own transaction may have completed it first.
  const completesItself = kind.startsWith("effect") || kind === FANOUT;
  const isDone = state === "cancelled" || (state === "completed" && completesItself);
  if (result === "requested" && !isDone) {
    return [{ rule: "cancel", job: id, text: `a cancel was to end it, and it is ${state}` }];
  }
  if (result !== "cancelled") return [];
  if (state !== "cancelled") return [{ rule: "cancel", job: id, text: `it was cancelled, and is ${state}` }];
  return history.of(id)
    .filter(({ start, runtime, startAt }) =>
      start > place && !history.mayBeTakenForDead(runtime, startAt, startAt)
    )
    .map(({ execution }) => ({
      rule: "cancel",
      job: id,
      text: `it was cancelled while it waited, and then ran as ${execution}`,
    }));
}
