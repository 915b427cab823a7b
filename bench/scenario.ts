import type { Bench } from "./bench.ts";
import type { Result } from "./result.ts";

/** One thing that is measured. */
export interface Scenario {
  /** How it is asked for. */
  readonly name: string;
  /** Measures it. */
  run(bench: Bench): Promise<Result>;
}
