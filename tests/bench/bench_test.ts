import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { judge } from "../../bench/against/compare.ts";
import { intervalOf } from "../../bench/against/interval.ts";
import { Revision } from "../../bench/against/revision.ts";
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

Deno.test("the interval of a median is that of the binomial distribution", () => {
  const ends = (count: number) => {
    const { low, high } = intervalOf(Array.from({ length: count }, (_, index) => index + 1));
    return [low, high];
  };
  assertEquals(ends(5), [-Infinity, Infinity]);
  assertEquals([ends(6), ends(10), ends(15), ends(20)], [[1, 6], [2, 9], [4, 12], [6, 15]]);
});

Deno.test("a revision that lost 10 % is found out, one that lost nothing is not", () => {
  const around = (middle: number) => Array.from({ length: 15 }, (_, index) => middle + (index - 7) * 0.005);
  assertEquals([judge(around(0.9), "more").isMet, judge(around(1), "more").isMet], [false, true]);
  assertEquals([judge(around(1.1), "less").isMet, judge(around(1), "less").isMet], [false, true]);
  assertEquals([judge(around(1.03), "spent").isMet, judge(around(1.01), "spent").isMet], [false, true]);
  assertEquals(judge(around(0.5).slice(0, 14), "more").isMet, null);
});

Deno.test("another revision is taken out with this harness, and its folder goes with it", async () => {
  let folder: string;
  {
    await using revision = await Revision.checkOut("HEAD");
    folder = revision.folder;
    assert((await Deno.stat(`${folder}/mod.ts`)).isFile);
    assertEquals(
      await Deno.readTextFile(`${folder}/bench/main.ts`),
      await Deno.readTextFile(new URL("../../bench/main.ts", import.meta.url)),
    );
  }
  await assertRejects(() => Deno.stat(folder), Deno.errors.NotFound);
  await assertRejects(() => Revision.checkOut("no-such-revision"), TypeError, "no-such-revision");
});

Deno.test("a comparison with another revision has names of its own", () => {
  const given = parseArguments(["drain", "--against", "HEAD", "--rounds", "20"]);
  assertEquals([given.against, given.rounds, given.comparisons.map(({ name }) => name)], ["HEAD", 20, [
    "drain",
  ]]);
  assertThrows(() => parseArguments(["held-vacuum", "--against", "HEAD"]), TypeError, "held-vacuum");
});
