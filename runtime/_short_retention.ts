import type { Kind } from "../ports/kind.ts";
import type { Log } from "../ports/log.ts";
import { keyRuleOf } from "../shared/key_rule.ts";

/** Warns of kinds whose completed jobs are to keep twins out for longer than completed jobs are kept. */
export function warnOfShortRetention(kinds: Iterable<Kind>, retentionCompletedMs: number, log: Log): void {
  for (const kind of kinds) {
    const withinMs = keyRuleOf(kind)?.withinMs ?? 0;
    if (withinMs <= retentionCompletedMs) continue;
    log.warn("completed jobs are not kept for as long as they are to keep out their twins", {
      kind: kind.name,
      withinMs,
      retentionCompletedMs,
      effect: "a twin is added once the completed job is purged",
    });
  }
}
