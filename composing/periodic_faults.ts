import { checkArgs } from "../ports/args_schema.ts";
import { errorText } from "../ports/error_text.ts";
import type { Kind, Periodic, Queue } from "../ports/kind.ts";
import {
  ARGS_BYTES_MAX,
  DELAY_MS_MAX,
  NAME_LENGTH_MAX,
  PERIOD_MS_MIN,
  PERIODIC_PREFIX,
} from "../ports/limits.ts";
import type { Schedule } from "../ports/schedule.ts";
import { show } from "../ports/show.ts";
import { toJsonText } from "../shared/json_text.ts";
import { checkKeyMembers, keyRuleOf } from "../shared/key_rule.ts";
import {
  CONFINED_KEYS,
  flagFaults,
  handlerFaults,
  isIntegerFrom,
  isRecord,
  kindNumberFaults,
  label,
  nameFaults,
  queueNameFaults,
  unknownKeys,
} from "./declaration_faults.ts";
import { keyRuleFaults } from "./key_rule_faults.ts";

const COMMON_KEYS = ["name", "every", "cron", "timezone", "runAtStart", "queue", "priority"];
const HANDLER_KEYS = [
  ...["maxAttempts", "timeout", "backoff", "ownThread", "discardAlert"],
  ...CONFINED_KEYS,
];
const KIND_KEYS = ["kind", "args"];

/** What is wrong with a periodic, whatever kinds there are. */
export function periodicFaults(
  periodic: Periodic,
  schedule: Schedule,
  queues: ReadonlyMap<string, Queue>,
): string[] {
  if (!isRecord(periodic)) {
    return [
      `a periodic is ${
        show(periodic)
      }, expected { name, handler } or { name, kind } and every, or cron and timezone`,
    ];
  }
  const name = label("periodic", periodic.name);
  const faults = [
    ...nameFaults(name, periodic.name, NAME_LENGTH_MAX - PERIODIC_PREFIX.length),
    ...unknownKeys(name, periodic, [...COMMON_KEYS, ...HANDLER_KEYS, ...KIND_KEYS]),
    ...scheduleFaults(name, periodic, schedule),
    ...flagFaults(name, "runAtStart", periodic.runAtStart),
  ];
  if (periodic.queue !== undefined) faults.push(...queueNameFaults(name, periodic.queue, queues));
  if (periodic.priority !== undefined && !isIntegerFrom(periodic.priority, 1, 4)) {
    faults.push(`${name}: priority is ${show(periodic.priority)}, expected 1 (first), 2, 3 or 4`);
  }
  faults.push(...("kind" in periodic ? kindFormFaults(name, periodic) : shortFormFaults(name, periodic)));
  return faults;
}

/** What is wrong with the kind and the args of a periodic that names a kind. */
export function periodicKindFaults(periodic: Periodic, kinds: ReadonlyMap<string, Kind>): string[] {
  if (!isRecord(periodic) || !("kind" in periodic)) return [];
  const name = label("periodic", periodic.name);
  const kind = kinds.get(periodic.kind);
  if (kind === undefined) {
    const known = [...kinds.keys()].map((each) => JSON.stringify(each)).join(", ") || "none";
    return [`${name}: its kind ${show(periodic.kind)} is not declared, declared are ${known}`];
  }
  try {
    toJsonText(periodic.args ?? null, { name: "args", maxBytes: ARGS_BYTES_MAX });
    const checked = kind.args === undefined ? null : checkArgs(kind.name, kind.args, periodic.args);
    // Who declares can't wait for it: its handler says what is wrong.
    if (checked instanceof Promise) checked.catch(() => {});
    // A rule that is wrong is a fault of the kind's own.
    const rule = keyRuleFaults(name, kind).length === 0 ? keyRuleOf(kind) : null;
    if (rule !== null) checkKeyMembers(kind.name, rule, periodic.args ?? null);
    return [];
  } catch (error) {
    return [`${name}: ${errorText(error)}`];
  }
}

function scheduleFaults(name: string, periodic: Periodic, schedule: Schedule): string[] {
  if ("every" in periodic && "cron" in periodic) {
    return [`${name}: has both every and cron, expected one of them`];
  }
  if ("every" in periodic) {
    if (isIntegerFrom(periodic.every, PERIOD_MS_MIN, DELAY_MS_MAX)) return [];
    return [`${name}: every is ${show(periodic.every)}, expected whole ms, at least ${PERIOD_MS_MIN}`];
  }
  if (!("cron" in periodic)) return [`${name}: has neither every nor cron with a timezone`];
  try {
    schedule.check(periodic.cron, periodic.timezone);
    return [];
  } catch (error) {
    return [`${name}: ${errorText(error)}`];
  }
}

function shortFormFaults(name: string, periodic: Periodic & { readonly handler?: unknown }): string[] {
  const declared = periodic as Pick<Kind, "handler"> & Partial<Kind>;
  const faults = [...kindNumberFaults(name, { maxAttempts: 1, timeout: 1, ...defined(declared) })];
  for (const key of ["ownThread", "discardAlert"] as const) {
    faults.push(...flagFaults(name, key, declared[key]));
  }
  if ("args" in periodic) faults.push(`${name}: has args without a kind, expected { kind, args }`);
  return [...faults, ...handlerFaults(name, declared)];
}

function kindFormFaults(name: string, periodic: Periodic): string[] {
  return HANDLER_KEYS.filter((key) => key in periodic)
    .map((key) => `${name}: has both kind and ${key}, expected ${key} to be the kind's`);
}

function defined(declared: Partial<Kind>): Partial<Kind> {
  return Object.fromEntries(Object.entries(declared).filter(([, value]) => value !== undefined));
}
