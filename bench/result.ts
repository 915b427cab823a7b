import { median } from "./figures.ts";

/** One figure of one contestant: a number for each round. */
export interface Figure {
  /** Whose. */
  readonly contestant: string;
  /** What was measured, such as `p99` or `10 at a time`. Empty where a scenario measures one thing. */
  readonly measure: string;
  /** In what. */
  readonly unit: string;
  /** One number a round. */
  readonly values: readonly number[];
}

/** What a scenario's figures are to be. */
export interface Target {
  /** In words. */
  readonly what: string;
  /** What was reached; NaN when a figure that it needs is missing. */
  readonly reached: number;
  /** The least that is enough. */
  readonly atLeast?: number;
  /** The most that is allowed. */
  readonly atMost?: number;
}

/** What came out of one scenario. */
export interface Result {
  /** The scenario's name. */
  readonly scenario: string;
  /** What it measures, in a sentence. */
  readonly title: string;
  /** Whether more or less is better. */
  readonly better: "more" | "less";
  /** How many jobs, rounds, connections. */
  readonly conditions: string;
  /** Whose figures the ratios are to. */
  readonly reference: string | null;
  /** The figures, in the order of the contestants. */
  readonly figures: readonly Figure[];
  /** Who was left out, and why. */
  readonly skipped: readonly string[];
  /** What was aimed at. */
  readonly targets: readonly Target[];
}

/** The median of one contestant's figure; NaN when it is missing. */
export function figureOf(figures: readonly Figure[], contestant: string, measure = ""): number {
  const figure = figures.find((one) => one.contestant === contestant && one.measure === measure);
  return figure === undefined ? NaN : median(figure.values);
}

/** The best median of some contestants' figures; NaN when there is none. */
export function bestOf(
  figures: readonly Figure[],
  contestants: readonly string[],
  better: "more" | "less",
  measure = "",
): number {
  const medians = contestants.map((name) => figureOf(figures, name, measure)).filter((one) => !isNaN(one));
  if (medians.length === 0) return NaN;
  return better === "more" ? Math.max(...medians) : Math.min(...medians);
}

/** Whether a target was met; null when it could not be said. */
export function isMet(target: Target): boolean | null {
  if (isNaN(target.reached)) return null;
  return target.reached >= (target.atLeast ?? -Infinity) && target.reached <= (target.atMost ?? Infinity);
}
