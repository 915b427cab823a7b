/** What a run of `deno test` ended with. */
export interface Summary {
  /** Tests that passed. */
  readonly passed: number;
  /** Tests that failed. */
  readonly failed: number;
  /** Tests that were not run. */
  readonly ignored: number;
}

/** Reads the line that `deno test` ends with; null when the output has none, for then it did not get that far. */
export function readSummary(output: string): Summary | null {
  // deno-lint-ignore no-control-regex -- colours
  const plain = output.replace(/\x1b\[[0-9;]*m/g, "");
  const lines = plain.split("\n").filter((line) => /^(ok|FAILED) \| \d+ passed/.test(line));
  const last = lines.at(-1);
  if (last === undefined) return null;
  const count = (what: string) => Number(new RegExp(`(\\d+) ${what}`).exec(last)?.[1] ?? 0);
  return { passed: count("passed"), failed: count("failed"), ignored: count("ignored") };
}
