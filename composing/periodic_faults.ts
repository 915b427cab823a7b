import { checkArgs } from "../ports/args_schema.ts";
import { errorText } from "../ports/error_text.ts";
import type {
  Kind,
  Periodic,
  PeriodicCron,
  PeriodicEvery,
  PeriodicHandler,
  PeriodicKind,
  Queue,
} from "../ports/kind.ts";
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
  flag,
  integer,
  isRecord,
  type Option,
  optionFaults,
  type Options,
  PRIORITY,
  UNCHECKED,
} from "../shared/options.ts";
import { ATTEMPTS, handlerFaults, label, nameFaults, PLACE, queueNameFaults } from "./declaration_faults.ts";
import { keyRuleFaults } from "./key_rule_faults.ts";

type Short = Omit<PeriodicHandler, "name">;

/** What a periodic with a handler of its own says; one that names a kind leaves it to the kind. */
const HANDLER: Options<Short> = { ...ATTEMPTS, ...PLACE };

/** Each member of a periodic. */
export const PERIODIC: Options<PeriodicEvery & PeriodicCron & PeriodicKind & Short> = {
  name: UNCHECKED,
  every: UNCHECKED,
  cron: UNCHECKED,
  timezone: UNCHECKED,
  runAtStart: flag(),
  queue: UNCHECKED,
  priority: PRIORITY,
  ...HANDLER,
  kind: UNCHECKED,
  args: UNCHECKED,
};

/** The period of a periodic. */
export const PERIOD: Option = integer({ min: PERIOD_MS_MIN, max: DELAY_MS_MAX });

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
    ...optionFaults(name, periodic, PERIODIC),
    ...scheduleFaults(name, periodic, schedule),
  ];
  if (periodic.queue !== undefined) faults.push(...queueNameFaults(name, periodic.queue, queues));
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
    if (PERIOD.accepts(periodic.every)) return [];
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
  const faults = handlerFaults(name, periodic as Pick<Kind, "handler">);
  return "args" in periodic
    ? [`${name}: has args without a kind, expected { kind, args }`, ...faults]
    : faults;
}

function kindFormFaults(name: string, periodic: Periodic): string[] {
  return Object.keys(HANDLER).filter((key) => key in periodic)
    .map((key) => `${name}: has both kind and ${key}, expected ${key} to be the kind's`);
}
