import type { Violation } from "./evidence.ts";
import type { History } from "./history.ts";

/** Each committed change was seen by a run that began after its commit and came to its end, though twins were kept out. */
export function changes({ evidence, byName }: History): Violation[] {
  const seen = new Set<number>();
  for (const line of evidence.lines) {
    if (line.what !== "saw" || byName.get(line.execution)?.ending !== "return") continue;
    for (const number of line.changes) seen.add(number);
  }
  return evidence.changes.filter(({ number }) => !seen.has(number)).map(({ number, kind, thing }) => ({
    rule: "change unseen",
    text: `change ${number} of ${thing} was committed with an offer of ${kind}, and no run has seen it`,
  }));
}
