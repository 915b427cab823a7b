import type { JobRow, Violation } from "./evidence.ts";
import { isProducts } from "./existence.ts";
import type { Execution, History } from "./history.ts";

/** How many runs there are, which of them may be at once, and whose result counts. */
export function runs(history: History): Violation[] {
  const found: Violation[] = [];
  for (const [id, executions] of history.executions) {
    const job = history.jobs.get(id);
    if (job === undefined) continue;
    if (executions.length > job.run) {
      const text = `its handler was started ${executions.length} times in ${job.run} runs`;
      found.push({ rule: "two starts of one run", job: id, text });
    }
    found.push(...overlaps(history, executions), ...result(history, job, executions));
  }
  for (const job of history.evidence.jobs) {
    if (job.state !== "completed" || job.kind.startsWith("effect") || isProducts(job.kind)) continue;
    if (history.of(job.id).length > 0) continue;
    found.push({ rule: "completed without a run", job: job.id, text: "no handler of it ever started" });
  }
  return found;
}

/** Two runs at once are only right where others may have taken the first one's process for dead. */
function overlaps(history: History, executions: readonly Execution[]): Violation[] {
  const found: Violation[] = [];
  executions.forEach((later, index) => {
    for (const earlier of executions.slice(0, index)) {
      if (earlier.last < later.start) continue;
      if (history.mayBeTakenForDead(earlier.runtime, earlier.startAt, later.startAt)) continue;
      found.push({
        rule: "two runs at once",
        job: later.id,
        text: `${earlier.execution} in ${earlier.runtime} still ran when ${later.execution} began`,
      });
    }
  });
  return found;
}

/** The output that was kept is that of a run that returned, and no other run began after it. */
function result(history: History, job: JobRow, executions: readonly Execution[]): Violation[] {
  if (job.state !== "completed" || job.kind.startsWith("effect")) return [];
  const kept = executions.find(({ execution }) => execution === job.output);
  if (kept?.ending !== "return") {
    const text = `it is completed with ${job.output}, which did not return: ${kept?.ending ?? "unknown"}`;
    return [{ rule: "completed by nobody", job: job.id, text }];
  }
  const after = executions.filter((other) => {
    if (other.start <= kept.last) return false;
    // A zombie may begin late: it was claimed before, and its process was frozen between.
    return !history.mayBeTakenForDead(other.runtime, kept.startAt, other.startAt);
  });
  const retried = history.retries.get(job.id)?.some((place) => place > kept.start) === true;
  if (after.length === 0 || retried) return [];
  const text = `the result of ${kept.execution} was taken, though ${after[0]!.execution} began later`;
  return [{ rule: "fence", job: job.id, text }];
}
