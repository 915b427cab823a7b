import { assertEquals } from "@std/assert";
import { matchesGlob } from "./event_glob.ts";

const CASES: readonly [glob: string, type: string, matches: boolean][] = [
  ["order.placed", "order.placed", true],
  ["order.placed", "order.paid", false],
  ["order.placed", "order.placed.twice", false],
  ["order", "order.placed", false],
  ["*", "order.placed", true],
  ["*", "order", true],
  ["corpus.*", "corpus.note.changed", true],
  ["corpus.*", "corpus.changed", true],
  ["corpus.*", "corpus", false],
  ["corpus.*.changed", "corpus.note.changed", true],
  ["corpus.*.changed", "corpus.note.line.changed", false],
  ["*.changed", "corpus.note.changed", false],
  ["*.changed", "corpus.changed", true],
  ["*.*", "corpus.note.changed", true],
  ["*.*", "corpus", false],
  ["a.*.b.*", "a.x.b.y.z", true],
  ["a.*.b.*", "a.x.c.y", false],
  ["order.p*", "order.placed", false],
];

for (const [glob, type, matches] of CASES) {
  Deno.test(`matchesGlob(): ${glob} ${matches ? "matches" : "does not match"} ${type}`, () => {
    assertEquals(matchesGlob(glob, type), matches);
  });
}
