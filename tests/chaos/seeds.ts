/** The runs of `deno task test:chaos`. */
export const FIXED_SEEDS: readonly { readonly seed: number; readonly seconds: number }[] = [
  { seed: 1, seconds: 30 },
  { seed: 35, seconds: 30 },
  { seed: 36, seconds: 30 },
];
