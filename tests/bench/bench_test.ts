import { assertEquals, assertThrows } from "@std/assert";
import { parseArguments } from "../../bench/arguments.ts";
import { isMet } from "../../bench/result.ts";

Deno.test("the command line of the benchmarks names what it does not understand", () => {
  for (const wrong of [["--fast"], ["no_such"], ["--rounds", "0"], ["--jobs"]]) {
    assertThrows(() => parseArguments(wrong), TypeError, wrong.at(-1));
  }
  const given = parseArguments(["drain", "--rounds", "3", "--only", "River,threads"]);
  assertEquals(given.scenarios.map(({ name }) => name), ["drain"]);
  assertEquals([given.rounds, given.jobs, given.only], [3, null, ["River", "threads"]]);
});

Deno.test("a target of the benchmarks is met, missed, or can't be said", () => {
  assertEquals(isMet({ what: "", reached: 0.7, atLeast: 0.6 }), true);
  assertEquals(isMet({ what: "", reached: 30, atMost: 25 }), false);
  assertEquals(isMet({ what: "", reached: NaN, atLeast: 0.6 }), null);
});
