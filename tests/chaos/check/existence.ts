import { isFinal } from "../../../ports/job.ts";
import { ORDINARY } from "../kinds.ts";
import { ORDER } from "../order.ts";
import type { Violation } from "./evidence.ts";
import type { History } from "./history.ts";

/** Every committed job exists and has ended; none that was rolled back ever existed. */
export function existence(history: History): Violation[] {
  const { evidence, jobs } = history;
  const found: Violation[] = [];
  for (const line of evidence.lines) {
    if (line.what === "enqueued" && !jobs.has(line.id)) {
      found.push({ rule: "lost", job: line.id, text: "its enqueue was acknowledged, and it is in no table" });
    }
    if (line.what !== "rolled back") continue;
    const job = jobs.get(line.id);
    // After its crash the server gives the numbers of what was not committed to others.
    if (job !== undefined && job.enqueuedAt <= line.at) {
      found.push({ rule: "rolled back", job: line.id, text: "its transaction rolled back, and it exists" });
    }
  }
  for (const [id, executions] of history.executions) {
    if (jobs.has(id)) continue;
    found.push({ rule: "ran without a job", job: id, text: `${executions.length} runs, and no row` });
  }
  for (const job of evidence.jobs) {
    if (isFinal(job.state) || isPeriodic(job.kind)) continue;
    found.push({ rule: "stuck", job: job.id, text: `it is ${job.state} at the end` });
  }
  return [...found, ...orders(history)];
}

/** An order and its jobs commit together. */
function orders({ evidence }: History): Violation[] {
  const orders = new Set(evidence.orders);
  const made = new Map(
    evidence.jobs.filter(({ tag }) => tag?.startsWith(ORDER)).map((job) => [job.tag!, job]),
  );
  return [
    ...[...orders].filter((tag) => !made.has(tag)).map((tag): Violation => ({
      rule: "order without job",
      text: `the order ${tag} was committed, and its job does not exist`,
    })),
    ...[...made].filter(([tag]) => !orders.has(tag)).map(([tag, job]): Violation => ({
      rule: "job without order",
      job: job.id,
      text: `it exists, and its order ${tag} was never committed`,
    })),
  ];
}

/** The kind of the jobs that hand an event to endpoints. */
export const FANOUT = "webhook.fanout";

/** The kind of the jobs that deliver. A redelivery retries them. */
export const DELIVER = "webhook.deliver";

/** Whether a kind is the product's own: its handlers write nothing down, and fail as connections and receivers do. */
export function isProducts(kind: string): boolean {
  return /^(periodic:)?(outbox|webhooks?)\./.test(kind);
}

/** Whether a kind is a periodic's: its jobs come again and again, also at the end. */
export function isPeriodic(kind: string): boolean {
  return kind.startsWith("periodic:") || kind === ORDINARY;
}
