import fc from "../conformance/fast_check.ts";

/** Text of whatever characters, with those pieces among them that mean something to whoever reads it. */
export function textOf(pieces: readonly string[], maxLength: number): fc.Arbitrary<string> {
  const part = fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom(...pieces) },
    { weight: 1, arbitrary: fc.string({ unit: "binary", maxLength: 6 }) },
    { weight: 1, arbitrary: fc.string({ maxLength: 6 }) },
  );
  return fc.array(part, { maxLength }).map((parts) => parts.join(""));
}

/** Runs a function and returns what it threw; undefined when nothing. */
export async function thrownBy(body: () => unknown): Promise<unknown> {
  try {
    await body();
  } catch (error) {
    return error ?? "nothing was thrown but null";
  }
}
