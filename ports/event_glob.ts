/**
 * Whether a glob matches an event type. Both are dotted; `*` as the last segment of the glob matches one or more
 * segments, elsewhere exactly one, and any other segment itself.
 *
 * @example
 * ```ts
 * import { matchesGlob } from "@millrace/millrace";
 * matchesGlob("order.*", "order.item.added"); // true
 * matchesGlob("*.added", "order.item.added"); // false
 * ```
 */
export function matchesGlob(glob: string, type: string): boolean {
  const wanted = glob.split(".");
  const found = type.split(".");
  const isOpen = wanted.at(-1) === "*";
  if (isOpen ? found.length < wanted.length : found.length !== wanted.length) return false;
  return wanted.every((segment, index) => segment === "*" || segment === found[index]);
}
