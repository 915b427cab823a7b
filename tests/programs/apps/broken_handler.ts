import type { CompositionInput } from "../../../ports/composition.ts";

/** A kind whose handler module does not exist. */
const application: CompositionInput = {
  registrars: [{
    kinds: [{
      name: "a",
      queue: "default",
      maxAttempts: 1,
      timeout: 1000,
      handler: new URL("./not_there.ts", import.meta.url),
    }],
  }],
};

export default application;
