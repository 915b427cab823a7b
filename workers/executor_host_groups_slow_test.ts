import { assertEquals } from "@std/assert";
import { fixture } from "./testdata/executor_fixture.ts";
import { until } from "./testdata/until.ts";

Deno.test("that attempts wait for a place of a process is said after a while, once", async () => {
  await using f = fixture({ hosts: 1 });
  const long = f.run({
    name: "long",
    isolation: "process",
    timeout: 60_000,
    args: { do: "sleep", ms: 7000 },
  });
  await until(() => f.executor.stats().hosts === 1);
  const others = ["one", "two"].map((name) => f.run({ name, isolation: "process", args: { do: "nothing" } }));
  for (const { ended } of [long, ...others]) assertEquals((await ended).type, "completed");
  const told = f.lines.map((line) => JSON.parse(line)).filter(({ event }) =>
    event.includes("wait for a place")
  );
  assertEquals(told.map(({ level, kind, hosts }) => [level, kind, hosts]), [["warn", "one", 1]]);
});
