import type { CompositionInput } from "../../../ports/composition.ts";

/** A composition with two faults. */
const application: CompositionInput = {
  registrars: [{
    kinds: [
      { name: "a", queue: "nowhere", maxAttempts: 1, timeout: 1000, handler: () => {} },
      { name: "b", queue: "default", maxAttempts: 0, timeout: 1000, handler: () => {} },
    ],
  }],
};

export default application;
