import type { DebounceRule, UniqueRule } from "../ports/key_rule.ts";
import { DELAY_MS_MAX } from "../ports/limits.ts";
import { show } from "../ports/show.ts";
import { KEY_STATES } from "../shared/key_rule.ts";
import {
  integer,
  isRecord,
  type Option,
  optionFaults,
  type Options,
  required,
  UNCHECKED,
} from "../shared/options.ts";

/** The most paths of one key, and the longest of them, in characters. */
const PATHS_MAX = 20;
const PATH_LENGTH_MAX = 200;

/** What is wrong with what a kind declares of its twins. */
export function keyRuleFaults(
  name: string,
  { unique, debounce }: { readonly unique?: unknown; readonly debounce?: unknown },
): string[] {
  const faults: string[] = [];
  if (unique !== undefined) faults.push(...uniqueFaults(name, unique));
  if (debounce !== undefined) faults.push(...debounceFaults(name, debounce));
  if (unique !== undefined && debounce !== undefined) {
    faults.push(`${name}: has both unique and debounce, expected one of them`);
  }
  return faults;
}

const WHOLE_MS: Option = {
  ...integer({ min: 1, max: DELAY_MS_MAX }),
  expected: `whole ms from 1 to ${DELAY_MS_MAX}`,
};

/** Each member of `unique`. */
export const UNIQUE: Options<UniqueRule> = {
  by: UNCHECKED,
  while: {
    expected: `a list of "pending" and others of ${KEY_STATES.join(", ")}`,
    accepts: (states) =>
      Array.isArray(states) && states.includes("pending") &&
      states.every((state) => KEY_STATES.includes(state)),
  },
  within: WHOLE_MS,
};

/** Each member of `debounce`. */
export const DEBOUNCE: Options<DebounceRule> = {
  by: UNCHECKED,
  quietMs: required(WHOLE_MS),
  atMostMs: required({ expected: `whole ms from quietMs to ${DELAY_MS_MAX}`, accepts: WHOLE_MS.accepts }),
};

function uniqueFaults(name: string, given: unknown): string[] {
  if (!isRecord(given)) return [`${name}: unique is ${show(given)}, expected { by?, while?, within? }`];
  const rule = given as UniqueRule;
  return [...optionFaults(name, rule, UNIQUE, "unique."), ...byFaults(`${name}: unique`, rule.by)];
}

function debounceFaults(name: string, given: unknown): string[] {
  if (!isRecord(given)) return [`${name}: debounce is ${show(given)}, expected { by?, quietMs, atMostMs }`];
  const rule = given as DebounceRule;
  const faults = [
    ...optionFaults(name, rule, DEBOUNCE, "debounce."),
    ...byFaults(`${name}: debounce`, rule.by),
  ];
  if (faults.length === 0 && rule.atMostMs < rule.quietMs) {
    faults.push(`${name}: debounce.atMostMs is ${rule.atMostMs}, expected ${DEBOUNCE.atMostMs.expected}`);
  }
  return faults;
}

function byFaults(name: string, by: unknown): string[] {
  if (by === undefined) return [];
  if (!Array.isArray(by) || by.length > PATHS_MAX) {
    return [`${name}.by is ${show(by)}, expected a list of at most ${PATHS_MAX} paths of members`];
  }
  const faults = by.filter((path) => !isPath(path)).map((path) =>
    `${name}.by holds ${show(path)}, expected names of members with dots between, such as "customer.id"`
  );
  if (new Set(by).size < by.length) faults.push(`${name}.by names a path twice`);
  return faults;
}

/** A number would name a place in a list for the database, and a member for everybody else. */
function isPath(path: unknown): path is string {
  if (typeof path !== "string" || path.length > PATH_LENGTH_MAX) return false;
  // deno-lint-ignore no-control-regex
  if (/[\u0000-\u001f\u007f]/.test(path) || !path.isWellFormed()) return false;
  return path.split(".").every((part) => part !== "" && !/^\s*[-+]?\d+\s*$/.test(part));
}
