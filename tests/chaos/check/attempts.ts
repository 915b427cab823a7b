import { ORDINARY } from "../kinds.ts";
import type { JobRow, Violation } from "./evidence.ts";
import { DELIVER, isProducts } from "./existence.ts";
import type { Execution, History } from "./history.ts";

type AttemptError = JobRow["errors"][number];

/** A death or an outage is rescued within so many times the time after which a process counts as lost. */
const RESCUE_FACTOR = 8;

/** A process that stood still for so long in a run may have let it pass its limit, in ms. */
const STALL_MS = 200;

/** Attempts recorded are attempts made, and each that was charged was charged for a cause. */
export function attempts(history: History): Violation[] {
  return history.evidence.jobs.flatMap((job) => [
    ...counted(history, job),
    ...job.errors.flatMap((error) => {
      if (isJustified(history, job, error)) return [];
      const text = `attempt ${error.attempt} was charged as "${error.class}" at ${error.at} without a cause`;
      return [{ rule: "charged", job: job.id, text }];
    }),
  ]);
}

function counted(history: History, job: JobRow): Violation[] {
  const { id, kind, state, attempt, maxAttempts, snoozes, run } = job;
  // That a twin took its place is the last error of a job, and no attempt's.
  const errors = job.errors.filter((error) => error.class !== "superseded");
  const found: Violation[] = [];
  const say = (text: string) => found.push({ rule: "attempts", job: id, text });
  errors.forEach((error, index) => {
    if (error.attempt <= (errors[index - 1]?.attempt ?? 0) || error.attempt > attempt) {
      say(`its errors are of the attempts ${errors.map((each) => each.attempt)}, and it had ${attempt}`);
    }
  });
  if (attempt > maxAttempts) say(`it had ${attempt} attempts of ${maxAttempts}`);
  if (run < attempt + snoozes) say(`${run} runs are fewer than ${attempt} attempts and ${snoozes} snoozes`);
  const thrown = history.of(id).filter(({ ending }) => ending === "snooze").length;
  if (snoozes > thrown && !isProducts(kind)) {
    say(`it was snoozed ${snoozes} times, and its handler asked for it ${thrown} times`);
  }
  // A retry adds attempts to one that completed, or was cancelled in the middle of an attempt. A redelivery is one too.
  const retries = kind === DELIVER ? Infinity : history.retriesOf(id);
  const withoutError = attempt - errors.length;
  const least = state === "completed" ? 1 : 0;
  const most = (state === "completed" || state === "cancelled" ? 1 : 0) + retries;
  const isKnown = state === "completed" || state === "cancelled" || state === "discarded";
  if (isKnown && (withoutError < least || withoutError > most)) {
    say(`it is ${state} after ${attempt} attempts, ${errors.length} of which failed`);
  }
  return found;
}

function isJustified(history: History, job: JobRow, error: AttemptError): boolean {
  const made = history.of(job.id).filter(({ attempt }) => attempt === error.attempt);
  const ended = (...endings: readonly unknown[]) => made.some(({ ending }) => endings.includes(ending));
  const at = Date.parse(error.at);
  // A run that was given back has the same attempt as the one after it, which may have died before its handler began.
  const mayBeUnseen = made.length === 0 || job.run > history.of(job.id).length;
  switch (error.class) {
    case "error":
      // The transactions of `completeIn` and of who follows a thing are the handler's own, and break with their connections.
      return ended("throw") || job.kind.startsWith("effect") || job.thing !== null || isProducts(job.kind);
    case "discarded":
      return ended("discard") || isProducts(job.kind);
    case "timeout":
      // What the product's own wait for may be away for longer than they may take; and a process may stand still.
      return job.kind.startsWith("slow") || isProducts(job.kind) ||
        made.some(({ runtime, startAt }) => history.outMs(runtime, startAt, at) >= STALL_MS);
    case "memory":
      return ended("allocate");
    case "crash":
      return ended("exit", "reject", "timer", "bomb") || hostKilled(history, made, at, mayBeUnseen);
    case "worker lost":
      return made.some((each) => wasLost(history, each, at)) ||
        (mayBeUnseen && someoneWasLost(history, at));
    case "superseded":
      return history.evidence.jobs.some((other) => isNewerTwin(other, job));
  }
}

function isNewerTwin(other: JobRow, job: JobRow): boolean {
  if (other.kind !== job.kind || other.enqueuedAt < job.enqueuedAt || other.id === job.id) return false;
  return job.kind === ORDINARY || job.thing !== null && other.thing === job.thing;
}

/** A host process that has one job alone, or none yet, charges it when it is killed. */
function hostKilled(
  history: History,
  made: readonly Execution[],
  at: number,
  mayBeUnseen: boolean,
): boolean {
  const within = (killedAt: number) => killedAt <= at + 1000 && killedAt > at - 20_000;
  return made.some(({ pid, runtime, startAt }) => {
    const kill = history.kills.get(pid);
    return pid !== runtime && kill !== undefined && kill.at >= startAt;
  }) || (mayBeUnseen && [...history.kills.values()].some((kill) => within(kill.at)));
}

/**
 * Its process died, or may have been taken for dead, or left and could not say what it gave back. A host process may read
 * its task a moment after its worker program was killed, so the death may come before the start; and a thread that was
 * frozen may read it after the charge.
 */
function wasLost(history: History, { runtime, startAt }: Execution, at: number): boolean {
  const ends = [history.kills.get(runtime), history.deaths.get(runtime), history.leaves.get(runtime)];
  return ends.some((end) => end !== undefined && end.at <= at) ||
    history.mayBeTakenForDead(runtime, Math.min(startAt, at), at);
}

/** A job counts as started with the claim that starts it, a moment before its handler begins. */
function someoneWasLost(history: History, at: number): boolean {
  const from = at - RESCUE_FACTOR * history.evidence.lostAfterMs;
  const ends = [...history.kills.values(), ...history.deaths.values(), ...history.leaves.values()];
  if (ends.some((end) => end.at >= from && end.at <= at)) return true;
  const processes = new Set([...history.byName.values()].map(({ runtime }) => runtime));
  return [...processes].some((pid) => history.mayBeTakenForDead(pid, from, at));
}
