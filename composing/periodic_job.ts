import type { Kind, Periodic } from "../ports/kind.ts";
import { ARGS_BYTES_MAX, PERIODIC_PREFIX, PERIODIC_TIMEOUT_MS } from "../ports/limits.ts";
import type { DeclaredPeriodic } from "../ports/store.ts";
import { toJsonText } from "../shared/json_text.ts";

/** The queue of periodics that have a handler of their own and name no queue. */
export const MAINTENANCE_QUEUE: string = "maintenance";

const OPTIONS = ["backoff", "isolation", "permissions", "memory", "ownThread", "discardAlert"] as const;

/** The kind that a periodic with a handler of its own is; null for one that names a kind. */
export function periodicKind(periodic: Periodic): Kind | null {
  if ("kind" in periodic) return null;
  const kind: Kind = {
    name: PERIODIC_PREFIX + periodic.name,
    queue: periodic.queue ?? MAINTENANCE_QUEUE,
    maxAttempts: periodic.maxAttempts ?? 1,
    timeout: periodic.timeout ?? PERIODIC_TIMEOUT_MS,
    handler: periodic.handler,
  };
  const given = OPTIONS.filter((option) => periodic[option] !== undefined);
  return { ...kind, ...Object.fromEntries(given.map((option) => [option, periodic[option]])) };
}

/** A periodic of a composition as a store knows it. */
export function declaredPeriodic(periodic: Periodic, kinds: ReadonlyMap<string, Kind>): DeclaredPeriodic {
  const kind = kinds.get("kind" in periodic ? periodic.kind : PERIODIC_PREFIX + periodic.name)!;
  return {
    name: periodic.name,
    schedule: "every" in periodic
      ? { every: periodic.every }
      : { cron: periodic.cron, timezone: periodic.timezone },
    job: {
      kind: kind.name,
      queue: periodic.queue ?? kind.queue,
      priority: periodic.priority ?? 2,
      maxAttempts: kind.maxAttempts,
      args: toJsonText("kind" in periodic ? periodic.args ?? null : null, {
        name: "args",
        maxBytes: ARGS_BYTES_MAX,
      }),
    },
    runAtStart: periodic.runAtStart === true,
  };
}
