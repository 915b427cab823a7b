import type { Capabilities } from "./harness.ts";
import type { Stage } from "./stage.ts";

/** One sentence of the contract and how it is shown. */
export interface Case {
  /** The sentence. */
  readonly name: string;
  /** What an adapter must be able to do. */
  readonly needs?: keyof Capabilities;
  /** Shows it; throws when it does not hold. */
  run(stage: Stage): Promise<void>;
}
