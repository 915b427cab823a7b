import type { Alert, Backlog } from "../ports/mod.ts";
import type { EventSettings } from "./settings.ts";

/** What of some counts a person should look at. */
export function alertsOf(
  { waiting, oldestMs, poisoned }: Backlog,
  discarded: readonly { readonly kind: string; readonly count: number }[],
  { alertBacklog, alertAgeMs }: EventSettings,
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
      message: `${poisoned} events can't be fanned out: mend the reason that each shows, then requeue it`,
    },
    {
      name: "discarded",
      value: sum,
      bound: 0,
      message:
        `${sum} jobs were given up (${kinds}): see their errors, then retry or leave them to retention`,
    },
  ];
  return alerts.filter(({ value, bound }) => value > bound);
}
