import { assert, assertEquals, assertGreater, assertThrows } from "@std/assert";
import { parseArguments } from "../../bench/arguments.ts";
import { Bench } from "../../bench/bench.ts";
import { LIMIT, THREADS } from "../../bench/contestants.ts";
import { toSvg } from "../../bench/plot.ts";
import { toMarkdown, toText } from "../../bench/report.ts";
import { isMet } from "../../bench/result.ts";
import { SCENARIOS } from "../../bench/scenarios/mod.ts";
import { testDatabaseUrl } from "../support/test_database.ts";

for (const scenario of SCENARIOS) {
  Deno.test(`the benchmark ${scenario.name} runs without any peer, in small`, async () => {
    await using bench = await Bench.start({
      rounds: 1,
      jobs: null,
      quick: true,
      only: [LIMIT, THREADS, "Millrace, defaults"],
      url: await testDatabaseUrl(),
      say: () => {},
    });
    const result = await scenario.run(bench);
    assertEquals(result.scenario, scenario.name);
    assert(
      result.skipped.length > 0 || result.figures.some(({ contestant }) => contestant.startsWith("Millrace")),
    );
    for (const { contestant, measure, values } of result.figures) {
      for (const value of values) assertGreater(value, -1e9, `${contestant}, ${measure}`);
    }
    for (const text of [toText(result), toMarkdown(result), toSvg(result)]) {
      assert(text.includes(result.title), text);
    }
    const schemas = await bench.sql`select nspname from pg_namespace where nspname like 'bench\\_%'`;
    assertEquals(schemas.length, 0);
  });
}

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
