import type { Json } from "../../ports/json.ts";

/** Whether `whole` contains `part`, as PostgreSQL's `jsonb @>` means it. */
export function contains(whole: Json, part: Json): boolean {
  // An array may contain a bare scalar, but only at the top.
  if (Array.isArray(whole) && !isNested(part)) return whole.some((item) => item === part);
  return containsNested(whole, part);
}

function containsNested(whole: Json, part: Json): boolean {
  if (Array.isArray(part)) {
    return Array.isArray(whole) && part.every((inner) => whole.some((item) => containsNested(item, inner)));
  }
  if (!isNested(part)) return whole === part;
  if (!isNested(whole) || Array.isArray(whole)) return false;
  return Object.entries(part).every(([key, inner]) =>
    Object.hasOwn(whole, key) && containsNested((whole as Record<string, Json>)[key]!, inner as Json)
  );
}

function isNested(value: Json): value is readonly Json[] | { readonly [key: string]: Json } {
  return typeof value === "object" && value !== null;
}
