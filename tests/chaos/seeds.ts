/** The runs of `deno task test:chaos`. */
export const FIXED_SEEDS: readonly { readonly seed: number; readonly seconds: number }[] = [
  { seed: 1, seconds: 60 },
  { seed: 2, seconds: 60 },
];
