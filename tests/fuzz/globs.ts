import fc from "../conformance/fast_check.ts";

const segment = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom("order", "item", "placed", "a", "b", "0", "-", "_") },
  fc.stringMatching(/^[A-Za-z0-9_-]{1,6}$/),
);

/** A type that may be declared. */
export const eventType: fc.Arbitrary<string> = fc.array(segment, { minLength: 2, maxLength: 4 })
  .map((segments) => segments.join("."));

/** A glob that may be declared, not far from a type: some of its segments, some others, some stars. */
export function globOf(type: string): fc.Arbitrary<string> {
  const segments = type.split(".");
  const each = (own: string) =>
    fc.oneof({ weight: 4, arbitrary: fc.constant(own) }, { weight: 3, arbitrary: fc.constant("*") }, segment);
  return fc.tuple(
    fc.tuple(...segments.map(each)),
    fc.integer({ min: 1, max: segments.length }),
    fc.array(fc.oneof(fc.constant("*"), segment), { maxLength: 2 }),
    fc.integer({ min: 0, max: 3 }),
  ).map(([chosen, kept, more, odd]) => [...chosen.slice(0, kept), ...(odd === 0 ? more : [])].join("."));
}

/** By the sentence alone: `*` as the last segment matches one or more segments, elsewhere exactly one. */
export function naiveMatch(glob: string, type: string): boolean {
  const [first, ...globs] = glob.split(".");
  const [head, ...types] = type.split(".");
  if (globs.length === 0) return first === "*" || first === head && types.length === 0;
  if (types.length === 0) return false;
  return (first === "*" || first === head) && naiveMatch(globs.join("."), types.join("."));
}
