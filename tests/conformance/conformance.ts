import type { Case } from "./case.ts";
import { cases } from "./cases.ts";
import type { Capabilities, Harness } from "./harness.ts";
import { Stage } from "./stage.ts";

const REASONS: Readonly<Record<keyof Capabilities, string>> = {
  canEndHandlers: "handlers of this adapter run in the main thread, where nothing can end them",
};

/** Registers the whole suite with `Deno.test`: one test for each sentence of the contract. */
export function conformance(harness: Harness): void {
  conformanceOf(harness, cases);
}

/** Registers part of the suite. */
export function conformanceOf(harness: Harness, chosen: readonly Case[]): void {
  for (const each of chosen) register(harness, each);
}

function register(harness: Harness, each: Case): void {
  const skipped = each.needs !== undefined && !harness.capabilities[each.needs];
  const reason = skipped ? ` (skipped: ${REASONS[each.needs]})` : "";
  Deno.test({
    name: `${harness.name}: ${each.name}${reason}`,
    ignore: skipped,
    async fn() {
      await using stage = await Stage.open(harness);
      await each.run(stage);
    },
  });
}
