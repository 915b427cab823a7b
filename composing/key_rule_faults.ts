import type { KeyState } from "../ports/key_rule.ts";
import { DELAY_MS_MAX } from "../ports/limits.ts";
import { show } from "../ports/show.ts";
import { KEY_STATES } from "../shared/key_rule.ts";

const UNIQUE_KEYS = ["by", "while", "within"];
const DEBOUNCE_KEYS = ["by", "quietMs", "atMostMs"];

/** The most paths of one key, and the longest of them, in characters. */
const PATHS_MAX = 20;
const PATH_LENGTH_MAX = 200;

/** What is wrong with what a kind declares of its twins. */
export function keyRuleFaults(
  name: string,
  { unique, debounce }: { readonly unique?: unknown; readonly debounce?: unknown },
): string[] {
  const faults: string[] = [];
  if (unique !== undefined) faults.push(...uniqueFaults(`${name}: unique`, unique));
  if (debounce !== undefined) faults.push(...debounceFaults(`${name}: debounce`, debounce));
  if (unique !== undefined && debounce !== undefined) {
    faults.push(`${name}: has both unique and debounce, expected one of them`);
  }
  return faults;
}

function uniqueFaults(name: string, given: unknown): string[] {
  if (!isObject(given)) return [`${name} is ${show(given)}, expected { by?, while?, within? }`];
  const faults = [...unknownFaults(name, given, UNIQUE_KEYS), ...byFaults(name, given.by)];
  const { while: states, within } = given;
  const isStates = states === undefined || Array.isArray(states) && states.includes("pending") &&
      states.every((state) => KEY_STATES.includes(state as KeyState));
  if (!isStates) {
    faults.push(
      `${name}.while is ${show(states)}, expected a list of "pending" and others of ${KEY_STATES.join(", ")}`,
    );
  }
  if (within !== undefined && !isMsFrom(within, 1)) {
    faults.push(`${name}.within is ${show(within)}, expected whole ms from 1 to ${DELAY_MS_MAX}`);
  }
  return faults;
}

function debounceFaults(name: string, given: unknown): string[] {
  if (!isObject(given)) return [`${name} is ${show(given)}, expected { by?, quietMs, atMostMs }`];
  const faults = [...unknownFaults(name, given, DEBOUNCE_KEYS), ...byFaults(name, given.by)];
  const { quietMs, atMostMs } = given;
  if (!isMsFrom(quietMs, 1)) {
    faults.push(`${name}.quietMs is ${show(quietMs)}, expected whole ms from 1 to ${DELAY_MS_MAX}`);
  }
  if (!isMsFrom(atMostMs, isMsFrom(quietMs, 1) ? quietMs : 1)) {
    faults.push(
      `${name}.atMostMs is ${show(atMostMs)}, expected whole ms from quietMs to ${DELAY_MS_MAX}`,
    );
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

function isMsFrom(value: unknown, min: number): value is number {
  return typeof value === "number" && Number.isInteger(value) && value >= min && value <= DELAY_MS_MAX;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function unknownFaults(name: string, given: object, known: readonly string[]): string[] {
  return Object.keys(given).filter((key) => !known.includes(key)).map((key) =>
    `${name}: ${show(key)} is not known, expected ${known.join(", ")}`
  );
}
