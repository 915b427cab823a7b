import type { JobState } from "../ports/job.ts";
import type { JsonInput } from "../ports/json.ts";
import {
  type DebounceRule,
  type KeyRule,
  type KeyState,
  MissingKeyMemberError,
  type UniqueRule,
} from "../ports/key_rule.ts";

const WHILE_WAITING: readonly KeyState[] = ["pending", "retryable"];
const WHILE_LIVE: readonly KeyState[] = [...WHILE_WAITING, "running"];

/** What a kind declares of its twins; null when it declares nothing. */
export function keyRuleOf(
  { unique, debounce }: { readonly unique?: UniqueRule; readonly debounce?: DebounceRule },
): KeyRule | null {
  if (debounce !== undefined) {
    const { by = null, quietMs, atMostMs } = debounce;
    return { by, while: WHILE_WAITING, withinMs: null, debounce: { quietMs, atMostMs } };
  }
  if (unique === undefined) return null;
  const { by = null, within } = unique;
  const states = unique.while ?? (within === undefined ? WHILE_WAITING : WHILE_LIVE);
  const isAddedFor = within !== undefined && !states.includes("completed");
  return {
    by,
    while: isAddedFor ? [...states, "completed"] : states,
    withinMs: within ?? null,
    debounce: null,
  };
}

/** Every state in which a job can keep its twins out. */
export const KEY_STATES: readonly KeyState[] = ["pending", "retryable", "running", "completed"];

/** What `uniqueByArgs` asks for. */
export const UNIQUE_BY_ARGS: KeyRule = {
  by: null,
  while: KEY_STATES,
  withinMs: null,
  debounce: null,
};

/** What keeps twins out in a state; that of a completed job is bounded by {@linkcode KeyRule.withinMs}. */
export function keepsTwinsOut(rule: KeyRule, state: JobState): boolean {
  return (rule.while as readonly JobState[]).includes(state);
}

/** The value at a path of members; undefined where there is none. A list has no members. */
export function memberAt(args: JsonInput, path: string): JsonInput | undefined {
  let value: JsonInput | undefined = args;
  for (const name of path.split(".")) {
    if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
    if (!Object.hasOwn(value, name)) return undefined;
    value = (value as { readonly [name: string]: JsonInput | undefined })[name];
  }
  return value;
}

/**
 * Checks that args have what the key is made of.
 *
 * @throws {MissingKeyMemberError} they lack one of it.
 */
export function checkKeyMembers(kind: string, rule: KeyRule, args: JsonInput): void {
  const path = rule.by?.find((each) => memberAt(args, each) === undefined);
  if (path !== undefined) throw new MissingKeyMemberError(kind, path);
}
