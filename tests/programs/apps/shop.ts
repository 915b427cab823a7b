import type { Kind, Settings } from "../../../mod.ts";
import type { CompositionInput } from "../../../ports/composition.ts";

/** The application that the programs' tests run. */
const application: CompositionInput & { readonly settings?: Partial<Settings> } = {
  registrars: [{
    kinds: [
      kind("shop.add", "add.ts"),
      { ...kind("shop.spin", "spin.ts"), timeout: 300, maxAttempts: 1 },
      kind("shop.sleep", "sleep.ts"),
      { ...kind("shop.hog", "hog.ts"), maxAttempts: 2 },
      { ...kind("shop.slow_side", "sleep.ts"), queue: "side" },
      { ...kind("shop.stray", "add.ts"), handler: stray },
    ],
  }],
  queues: [{ name: "default", concurrency: 10 }, { name: "side", concurrency: 2 }],
  settings: { pollMs: 100, heartbeatMs: 300, lostAfterMs: 1500, leaseMs: 1500, stopGraceMs: 2000 },
};

export default application;

function kind(name: string, file: string): Kind {
  return {
    name,
    queue: "default",
    maxAttempts: 3,
    timeout: 30_000,
    backoff: () => 200,
    handler: new URL(`./${file}`, import.meta.url),
  };
}

/** Prints, and leaves a rejection behind, in the main thread. */
function stray(): string {
  // deno-lint-ignore no-console
  console.warn("printed %d", 1, { a: 2 });
  setTimeout(() => Promise.reject(new Error("left behind")), 10);
  setTimeout(() => {
    throw new Error("thrown late");
  }, 20);
  return "done";
}
