/** What bodies are made of: all that was ever seen to break a signature. */
const PIECES: readonly unknown[] = [
  "plain",
  "emoji \u{1f469}\u200d\u{1f680} and \u{1f3f3}\ufe0f\u200d\u{1f308}",
  "combining e\u0301 n\u0303",
  "\u05e9\u05dc\u05d5\u05dd \u0645\u0631\u062d\u0628\u0627",
  'lines \u2028 and \u2029, tab \t, quote ", slash / and \\',
  "\ufeff at the start",
  0,
  -0.5,
  1e21,
  5e-324,
  9007199254740991,
  true,
  null,
  {},
  [],
  { z: 1, a: { "key with \u{1f600}": [1, [2, [3]]] }, 10: "ten", 9: "nine" },
];

/** A body that is the same for the same seed. Empty ones, and numbers that only text can hold, are among them. */
export function randomBody(seed: number): string {
  let state = seed * 2654435761 >>> 0;
  const below = (max: number): number => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor(state / 2 ** 32 * max);
  };
  if (seed % 50 === 0) return "";
  if (seed % 50 === 1) return "{}";
  if (seed % 50 === 2) return `{"large":${"9".repeat(19)},"one":1.0,"exponent":1E+2}`;
  const value: Record<string, unknown> = {};
  for (let index = below(8); index >= 0; index--) {
    const noise = Array.from({ length: below(20) }, () => String.fromCodePoint(32 + below(0xd7ff - 32))).join(
      "",
    );
    value[`${noise}${index}`] = below(2) === 0 ? PIECES[below(PIECES.length)] : noise;
  }
  return JSON.stringify(value, null, seed % 3 === 0 ? 2 : 0);
}
