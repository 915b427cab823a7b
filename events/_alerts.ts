import type { Alert, Backlog } from "../ports/events.ts";
import type { UpkeepOverview } from "../ports/upkeep.ts";
import type { EventSettings } from "./settings.ts";

/** What alerts are made of. */
export interface AlertSources {
  /** The outbox at a glance. */
  readonly backlog: Backlog;
  /** How many jobs of each kind were given up. */
  readonly discarded: readonly { readonly kind: string; readonly count: number }[];
  /** How the work beside the jobs goes. */
  readonly upkeep: readonly UpkeepOverview[];
}

/** What a person should look at. */
export function alertsOf(
  { backlog: { waiting, oldestMs, poisoned }, discarded, upkeep }: AlertSources,
  { alertBacklog, alertAgeMs, alertUpkeepMs }: EventSettings,
): Alert[] {
  const given = discarded.filter(({ count }) => count > 0);
  const sum = given.reduce((all, { count }) => all + count, 0);
  const kinds = given.map(({ kind, count }) => `${count} ${kind}`).join(", ");
  const alerts: Alert[] = [
    {
      name: "backlog",
      value: waiting,
      bound: alertBacklog,
      message: `${waiting} events wait for their fan-out: see whether a worker of the newest deploy runs`,
    },
    {
      name: "backlog age",
      value: Math.round(oldestMs ?? 0),
      bound: alertAgeMs,
      message: `An event has waited for ${Math.round((oldestMs ?? 0) / 1000)} s: see the workers' logs`,
    },
    {
      name: "poisoned",
      value: poisoned,
      bound: 0,
      message:
        `${poisoned} events can't be fanned out: mend the reason that each shows, then requeue or drop it`,
    },
    {
      name: "discarded",
      value: sum,
      bound: 0,
      message:
        `${sum} jobs were given up (${kinds}): see their errors, then retry or leave them to retention`,
    },
  ];
  return [
    ...alerts.filter(({ value, bound }) => value > bound),
    ...upkeep.flatMap((task) => upkeepAlert(task, alertUpkeepMs)),
  ];
}

function upkeepAlert(task: UpkeepOverview, bound: number): Alert[] {
  const { failingForMs, failuresInARow, lastError, lastErrorIn, lastSuccessAt, overdue } = task;
  if (failuresInARow > 0 && failingForMs > bound) {
    return [{
      name: "upkeep",
      value: Math.round(failingForMs),
      bound,
      message: `"${task.task}" has failed ${failuresInARow} times in ${Math.round(failingForMs / 1000)} s: ` +
        `${lastError}: see the log of ${lastErrorIn}`,
    }];
  }
  if (!overdue) return [];
  return [{
    name: "upkeep",
    value: 1,
    bound: 0,
    message: `"${task.task}" was last done at ${lastSuccessAt ?? "an unknown time"} and is overdue: ` +
      `see whether a worker runs, and its log`,
  }];
}
