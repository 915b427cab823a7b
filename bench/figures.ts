/** The middle one of some numbers. */
export function median(numbers: readonly number[]): number {
  return percentile(numbers, 0.5);
}

/** The number that a share of all numbers does not exceed; NaN of none. */
export function percentile(numbers: readonly number[], share: number): number {
  const sorted = numbers.toSorted((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? NaN;
}

/** A number with three digits that count, and separators of thousands. */
export function readable(number: number): string {
  if (!Number.isFinite(number)) return "-";
  const digits = Math.abs(number) >= 100 ? 0 : Math.abs(number) >= 10 ? 1 : 2;
  return number.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}
