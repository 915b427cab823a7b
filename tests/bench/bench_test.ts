import { assertEquals, assertThrows } from "@std/assert";
import { parseArguments } from "../../bench/arguments.ts";
import { median } from "../../bench/figures.ts";
import { isMet } from "../../bench/result.ts";

Deno.test("the command line of the benchmarks names what it does not understand", () => {
  const wrongs = [["--fast"], ["no_such"], ["--rounds", "0"], ["--jobs"], ["--jobs", "1e300"], [
    "--only",
    "nobody",
  ]];
  for (const wrong of [...wrongs, ["--only", "River,"]]) {
    assertThrows(() => parseArguments(wrong), TypeError, wrong.at(-1)!.split(",").at(-1));
  }
  const given = parseArguments(["drain", "--rounds", "3", "--only", "River,threads"]);
  assertEquals(given.scenarios.map(({ name }) => name), ["drain"]);
  assertEquals([given.rounds, given.jobs, given.only], [3, null, ["River", "threads"]]);
});

Deno.test("the median of an even number of rounds lies between the two in the middle", () => {
  assertEquals([median([3, 1, 2]), median([4, 1, 2, 3]), median([7])], [2, 2.5, 7]);
  assertEquals(median([]), NaN);
});

Deno.test("a target of the benchmarks is met, missed, or can't be said", () => {
  assertEquals(isMet({ what: "", reached: 0.7, atLeast: 0.6 }), true);
  assertEquals(isMet({ what: "", reached: 30, atMost: 25 }), false);
  assertEquals(isMet({ what: "", reached: NaN, atLeast: 0.6 }), null);
});
