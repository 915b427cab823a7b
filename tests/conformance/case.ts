import type { Capabilities } from "./harness.ts";
import type { Stage } from "./stage.ts";

/** One sentence of the contract and its test. */
export interface Case {
  /** The sentence. */
  readonly name: string;
  /** The capability that an adapter needs for it. */
  readonly needs?: keyof Capabilities;
  /** Tests the sentence; throws when it does not hold. */
  run(stage: Stage): Promise<void>;
}
