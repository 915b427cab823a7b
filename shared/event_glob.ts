import { InvalidOptionError } from "../ports/errors.ts";
import { NAME_LENGTH_MAX } from "../ports/limits.ts";

const SEGMENT = "[A-Za-z0-9_-]+";
const TYPE = new RegExp(`^${SEGMENT}(?:\\.${SEGMENT})+$`);
const GLOB = new RegExp(`^(?:\\*|${SEGMENT})(?:\\.(?:\\*|${SEGMENT}))*$`);

/** Whether a value can be the name of an event type: at least two segments of letters, digits, `_` and `-`, with dots between. */
export function isEventTypeName(value: unknown): value is string {
  return typeof value === "string" && value.length <= NAME_LENGTH_MAX && TYPE.test(value);
}

/** Whether a value can be a glob of event types: such segments or `*`, with dots between. */
export function isEventGlob(value: unknown): value is string {
  return typeof value === "string" && GLOB.test(value);
}

/**
 * Whether a glob matches an event type. Both are dotted; `*` as the last segment of the glob matches one or more
 * segments, elsewhere exactly one, and any other segment itself: `order.*` matches `order.item.added`, `*.added` doesn't.
 *
 * @throws {InvalidOptionError} one of them is no text.
 */
export function matchesGlob(glob: string, type: string): boolean {
  for (const [name, value] of [["glob", glob], ["type", type]] as const) {
    if (typeof value !== "string") throw new InvalidOptionError(name, value, "a text");
  }
  const wanted = glob.split(".");
  const found = type.split(".");
  const isOpen = wanted.at(-1) === "*";
  if (isOpen ? found.length < wanted.length : found.length !== wanted.length) return false;
  return wanted.every((segment, index) => segment === "*" || segment === found[index]);
}
