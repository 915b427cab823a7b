import type { Bench } from "./bench.ts";
import type { Contestant } from "./contestants.ts";
import { PeerError } from "./peer_error.ts";
import type { Figure } from "./result.ts";

/** What one round of one contestant gave: a number a measure. */
export type Measured = Readonly<Record<string, number>>;

/** What {@linkcode interleave} gathers. */
export interface Interleaved {
  /** The figures, contestant by contestant. */
  readonly figures: Figure[];
  /** Who was left out, and why. */
  readonly skipped: string[];
}

/** Measures everyone once a round, one after the other, so that what disturbs a while disturbs all. */
export async function interleave(
  bench: Bench,
  rounds: number,
  unit: string,
  contestants: readonly Contestant[],
  measure: (contestant: Contestant) => Promise<Measured | null>,
): Promise<Interleaved> {
  const skipped: string[] = [];
  const values = new Map<Contestant, Map<string, number[]>>();
  for (let round = 0; round < rounds; round++) {
    for (const contestant of contestants) {
      if (skipped.some((line) => line.startsWith(`${contestant.name}:`))) continue;
      const measured = await measure(contestant).catch((error) => {
        // A peer that breaks leaves the others their figures; where ours breaks there is nothing to compare.
        if (!(error instanceof PeerError) || contestant.side !== "peer") throw error;
        skipped.push(`${contestant.name}: ${error.message}`);
        return undefined;
      });
      if (measured === undefined) continue;
      if (measured === null) {
        skipped.push(`${contestant.name}: it has no such thing`);
        continue;
      }
      const own = values.get(contestant) ?? new Map<string, number[]>();
      values.set(contestant, own);
      for (const [name, value] of Object.entries(measured)) own.set(name, [...own.get(name) ?? [], value]);
      const said = Object.entries(measured).map(([name, value]) => `${name} ${value.toFixed(1)}`.trim());
      bench.options.say(`  round ${round + 1}  ${contestant.name}: ${said.join(", ")} ${unit}`);
    }
  }
  const figures = [...values].flatMap(([contestant, own]) =>
    [...own].map(([measure, list]) => ({ contestant: contestant.name, measure, unit, values: list }))
  );
  return { figures, skipped };
}
