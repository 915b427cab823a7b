import { assertEquals, assertStringIncludes, assertThrows } from "../../support/assert.ts";
import { CompositionError, InvalidOptionError, UndeclaredQueueError } from "../../../ports/errors.ts";
import type { Kind } from "../../../ports/kind.ts";
import type { Case } from "../case.ts";

const FAULTY: readonly (readonly [string, Record<string, unknown>, string])[] = [
  ["no name", { name: "" }, "name is empty"],
  ["an unknown queue", { queue: "nowhere" }, '"nowhere"'],
  ["0 attempts", { maxAttempts: 0 }, "maxAttempts is 0"],
  ["no handler", { handler: undefined }, "no handler"],
  ["no timeout", { timeout: undefined }, "timeout is undefined"],
  ["a name of 129 characters", { name: "x".repeat(129) }, "129"],
];

/** Declarations refused at construction. */
export const declarationCases: readonly Case[] = [
  ...FAULTY.map(([what, change, part]): Case => ({
    name: `a kind with ${what} is refused at construction`,
    run(stage) {
      const kinds = [{ ...stage.kind("k"), ...change } as Kind];
      const error = assertThrows(() => stage.build({ kinds }), CompositionError);
      assertStringIncludes(error.message, part);
      return Promise.resolve();
    },
  })),
  {
    name: "a name that is declared twice is refused at construction, also by two registrars",
    run(stage) {
      const registrars = [{ kinds: [stage.kind("k")] }, { kinds: [stage.kind("k")] }];
      const error = assertThrows(() => stage.build({ registrars }), CompositionError);
      assertEquals(error.faults, ['kind "k" is declared twice']);
      return Promise.resolve();
    },
  },
  {
    name: "all faults of a composition are reported at once",
    run(stage) {
      const error = assertThrows(() =>
        stage.build({
          kinds: [stage.kind("a", { maxAttempts: 0, timeout: 0 }), stage.kind("b", { queue: "nowhere" })],
          periodics: [{ name: "p", every: 1, handler: () => {} }],
          queues: [{ name: "default", concurrency: 0 }],
        }), CompositionError);
      assertEquals(error.faults.length, 5, error.message);
      return Promise.resolve();
    },
  },
  {
    name: "a setting out of its range, and a queue to work that is not declared, are refused at construction",
    run(stage) {
      const kinds = [stage.kind("k")];
      assertThrows(() => stage.build({ kinds, settings: { pollMs: -1 } }), InvalidOptionError, "pollMs");
      assertThrows(() => stage.build({ kinds, work: ["nowhere"] }), UndeclaredQueueError, "nowhere");
      return Promise.resolve();
    },
  },
];
