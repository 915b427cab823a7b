import type { Ending } from "../journal.ts";
import type { Violation } from "./evidence.ts";
import type { Execution, History } from "./history.ts";

/** Whoever wrote so shortly before its process was killed was running when it was, in ms. */
const SURELY_MS = 200;

/** What a process had sent when it was killed may take effect so long after, in ms. */
const UNDER_WAY_MS = 1000;

/** A server that has come back a moment ago may still turn a program away, in ms. */
const BEFORE_START_MS = 1000;

/** How a handler may end that takes its neighbours' thread with it. */
const ENDS_THREAD: ReadonlySet<Ending> = new Set<Ending>(["exit", "reject", "timer", "spin", "hang"]);

/** The death of a worker program spends an attempt of each job that ran in it; no handler is such a death. */
export function deaths(history: History): Violation[] {
  const found: Violation[] = [];
  for (const [pid, { at, why, started }] of history.deaths) {
    if (history.kills.has(pid) || history.leaves.has(pid)) continue;
    if (started) {
      const text = `the worker program ${pid} ended with ${why}, and nobody killed it`;
      found.push({ rule: "process died", text });
    } else if (!why.startsWith("exit") || !history.wasDisturbed(pid, startOf(history, pid), at)) {
      const text =
        `the worker program ${pid} ended with ${why} before it had started, and nothing came between`;
      found.push({ rule: "start failed", text });
    }
  }
  for (const execution of history.byName.values()) {
    if (!surelyDiedWithProcess(history, execution)) continue;
    const job = history.jobs.get(execution.id);
    // For another cause if its end was under way to the database when it was killed.
    const charged = job?.errors.some(({ class: cause, attempt, at }) =>
      attempt === execution.attempt &&
      (cause === "worker lost" ||
        Date.parse(at) <= (history.kills.get(execution.runtime)?.at ?? 0) + UNDER_WAY_MS)
    );
    // Its own transaction may have completed it just before.
    if (job === undefined || charged === true || job.output === execution.execution) continue;
    if (history.cancels.has(job.id)) continue;
    const text =
      `attempt ${execution.attempt} ran in ${execution.runtime} when it was killed, and was not charged`;
    found.push({ rule: "death not charged", job: job.id, text });
  }
  return found;
}

/** What broke shortly before a program began may be noticed by it. */
function startOf(history: History, pid: number): number {
  return (history.starts.get(pid)?.at ?? 0) - BEFORE_START_MS;
}

function surelyDiedWithProcess(history: History, execution: Execution): boolean {
  const { runtime, id, start, startAt, last, lastAt, ending } = execution;
  const kill = history.kills.get(runtime);
  if (kill === undefined || ending !== null || last > kill.place || kill.at - lastAt > SURELY_MS) {
    return false;
  }
  const leave = history.leaves.get(runtime);
  if (leave !== undefined && leave.place < kill.place) return false;
  if (history.mayBeTakenForDead(runtime, startAt, kill.at)) return false;
  // A neighbour may have ended its thread just before, and it was given back in time.
  const threadEnded = [...history.byName.values()].some((other) =>
    other.runtime === runtime && other.ending !== null && ENDS_THREAD.has(other.ending) &&
    other.last < kill.place && other.lastAt >= lastAt - SURELY_MS
  );
  return !threadEnded && !history.of(id).some((other) => other.start > start && other.start < kill.place);
}
