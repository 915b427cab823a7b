import { ORDINARY } from "../kinds.ts";
import type { Violation } from "./evidence.ts";
import { isPeriodic } from "./existence.ts";
import type { History } from "./history.ts";

/** What happens once: unique jobs, ticks, effects. */
export function once(history: History): Violation[] {
  return [...keys(history), ...ticks(history), ...effects(history)];
}

function keys({ evidence }: History): Violation[] {
  const holders = new Map<string, string>();
  const found: Violation[] = evidence.sharedKeys.map((text) => ({ rule: "unique", text }));
  for (const { id, kind, key, thing, state } of evidence.jobs) {
    // One that follows a thing gives up its key when it begins.
    if (key === null || thing !== null || state === "discarded" || state === "cancelled") continue;
    const name = `${kind} ${key}`;
    const other = holders.get(name);
    if (other !== undefined) found.push({ rule: "unique", job: id, text: `job ${other} has the same key` });
    holders.set(name, id);
  }
  return found;
}

/** In any stretch of time a periodic was enqueued at most once for each tick in it, and never twice at once. */
function ticks({ evidence }: History): Violation[] {
  const found: Violation[] = [];
  for (const [name, periodMs] of Object.entries(evidence.periods)) {
    const byHand = new Set<string>();
    let unknown = 0;
    for (const line of evidence.lines) {
      if (line.what !== "run periodic" || line.name !== name) continue;
      if (line.id === null) unknown++;
      else byHand.add(line.id);
    }
    const kindOf = name === ORDINARY ? ORDINARY : `periodic:${name}`;
    const jobs = evidence.jobs.filter(({ kind }) => kind === kindOf)
      .toSorted((one, other) => one.enqueuedAt - other.enqueuedAt);
    jobs.forEach((job, index) => {
      const before = jobs[index - 1];
      if (before === undefined || (before.finishedAt ?? Infinity) <= job.enqueuedAt) return;
      found.push({ rule: "two runs of a periodic", job: job.id, text: `job ${before.id} had not ended` });
    });
    const ofTicks = jobs.filter(({ id }) => !byHand.has(id));
    const window = (at: number) => Math.floor(at / periodMs);
    // A tick may be taken a moment after the next one has passed, so each stretch may hold one more.
    ofTicks.forEach((job, index) => {
      const from = ofTicks[Math.max(0, index - 10)]!;
      const made = Math.min(index, 10) + 1;
      const passed = window(job.enqueuedAt) - window(from.enqueuedAt) + 1;
      if (made <= passed + 1 + unknown) return;
      found.push({ rule: "tick twice", job: job.id, text: `${made} runs of ${name} for ${passed} ticks` });
    });
  }
  return found;
}

/** The effect of `completeIn` is there exactly once when its job is completed, and else not at all. */
function effects(history: History): Violation[] {
  const made = new Map<string, number>();
  for (const { jobId } of history.evidence.effects) made.set(jobId, (made.get(jobId) ?? 0) + 1);
  return history.evidence.jobs.filter(({ kind }) => kind.startsWith("effect") && !isPeriodic(kind))
    .filter(({ id, state }) => (made.get(id) ?? 0) !== (state === "completed" ? 1 : 0))
    .map(({ id, state }) => ({
      rule: "effect",
      job: id,
      text: `it is ${state}, and its effect was made ${made.get(id) ?? 0} times`,
    }));
}
