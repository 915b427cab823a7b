import type { Alert, Backlog } from "../ports/mod.ts";
import type { EventSettings } from "./settings.ts";

/** What of some counts a person should look at. */
export function alertsOf(
  { waiting, oldestMs, poisoned }: Backlog,
  discarded: number,
  { alertBacklog, alertAgeMs }: EventSettings,
): Alert[] {
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
      value: discarded,
      bound: 0,
      message: `${discarded} jobs were given up: see their errors, then retry or leave them to retention`,
    },
  ];
  return alerts.filter(({ value, bound }) => value > bound);
}
