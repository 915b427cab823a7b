import { assert, assertEquals, assertGreater } from "@std/assert";
import { Bench } from "../../bench/bench.ts";
import { LIMIT, THREADS } from "../../bench/contestants.ts";
import { toSvg } from "../../bench/plot.ts";
import { toMarkdown, toText } from "../../bench/report.ts";
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
