import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { LINES_PER_SECOND } from "./output_limit.ts";
import { fixture } from "./testdata/executor_fixture.ts";

const MEBIBYTE = 1024 * 1024;

/** The most that this process's memory grew while `work` went on, in MiB. */
async function growthDuring(work: Promise<unknown>): Promise<number> {
  const before = Deno.memoryUsage().rss;
  let most = before;
  const timer = setInterval(() => most = Math.max(most, Deno.memoryUsage().rss), 20);
  await work.finally(() => clearInterval(timer));
  return (Math.max(most, Deno.memoryUsage().rss) - before) / MEBIBYTE;
}

for (const [fd, mebibytes] of [[1, 400], [2, 100]] as const) {
  Deno.test(`${mebibytes} MiB without a newline on fd ${fd} leave this process's memory flat, and the neighbours alone`, async () => {
    await using f = fixture();
    const warm = ["one", "two"].map((name) =>
      f.run({ name, permissions: {}, args: { do: "nothing" } }).ended
    );
    await Promise.all([...warm, f.run({ args: { do: "nothing" } }).ended]);
    f.printed.length = 0;
    const flood = f.run({
      name: "one",
      permissions: {},
      timeout: 60_000,
      args: { do: "rawFlood", fd, mebibytes },
    });
    const neighbours = [
      f.run({ name: "two", permissions: {}, args: { do: "sleep", ms: 500 } }),
      f.run({ args: { do: "sleep", ms: 500 } }),
    ];
    const growth = await growthDuring(flood.ended);
    assertEquals(await flood.ended, { type: "completed", output: '"written"', completedIn: false });
    for (const { ended } of neighbours) assertEquals((await ended).type, "completed");
    assert(growth < 50, `it grew by ${growth} MiB`);
    await f[Symbol.asyncDispose]();
    // A frame of the process may go in between, and ends a line.
    assert(f.printed.length >= 1 && f.printed.length < 10, `${f.printed.length} lines`);
    for (const line of f.printed) assert(line.startsWith("[one") && line.length < 17_000, line.slice(0, 100));
    assert(f.printed.some((line) => /\.\.\. \(cut, \d{7,} bytes\)$/.test(line)));
  });
}

Deno.test("millions of short lines are dropped beyond their rate, counted, and harm nobody", async () => {
  const lines: string[] = [];
  let printed = 0;
  await using f = fixture({ output: () => printed++ });
  const flood = f.run({
    name: "one",
    permissions: {},
    timeout: 60_000,
    args: { do: "rawFlood", fd: 1, mebibytes: 60, newlines: true },
  });
  const begin = performance.now();
  const growth = await growthDuring(flood.ended);
  assertEquals((await flood.ended).type, "completed");
  const seconds = (performance.now() - begin) / 1000;
  await f[Symbol.asyncDispose]();
  lines.push(...f.lines.filter((line) => line.includes("were dropped")));
  const dropped = lines.reduce((sum, line) => sum + JSON.parse(line).lines, 0);
  assert(printed <= LINES_PER_SECOND * (seconds + 2), `${printed} were printed in ${seconds} s`);
  // One line in 20 bytes, and one at the end of each MiB's chunk goes on in the next.
  assert(printed + dropped > 3_000_000, `${printed} printed and ${dropped} dropped`);
  assert(growth < 50, `it grew by ${growth} MiB`);
  assertEquals(JSON.parse(lines[0]!).kind, "one");
});

for (const isolation of ["thread", "process"] as const) {
  Deno.test(`a flood of log lines, output and progress from a ${isolation} is bounded where it comes from`, async () => {
    let printed = 0;
    await using f = fixture({ output: () => printed++ });
    await f.run({ isolation, args: { do: "nothing" } }).ended;
    const begin = performance.now();
    for (const how of ["log", "print", "progress"]) {
      const count = 60_000;
      const flood = f.run({ isolation, timeout: 60_000, args: { do: "logFlood", how, lines: count } });
      assertEquals((await flood.ended).type, "completed");
      assert(how !== "progress" || flood.told.length > 0 && flood.told.length < 1000, `${flood.told.length}`);
      if (how === "progress") assertEquals(flood.told.at(-1)!.done, (count - 1) / count);
    }
    const most = LINES_PER_SECOND * ((performance.now() - begin) / 1000 + 2);
    const logged = f.lines.filter((line) => line.includes('"flood"')).length;
    assert(logged < most && printed < most, `${logged} and ${printed} of ${most}`);
  });
}

Deno.test("long lines and large fields are cut, and say so", async () => {
  await using f = fixture();
  for (const isolation of ["thread", "process"] as const) {
    f.lines.length = f.printed.length = 0;
    assertEquals((await f.run({ isolation, args: { do: "longLine" } }).ended).type, "completed");
    assertEquals(f.printed.length, 1);
    assert(f.printed[0]!.length < 17_000);
    assertStringIncludes(f.printed[0]!, "(cut, 100000 characters)");
    const [long, many] = f.lines.filter((line) => line.includes("jobId")).map((line) => JSON.parse(line));
    assert(long.event.length < 9000 && long.text.length < 9000);
    assertStringIncludes(long.text, "(cut, 100000 characters)");
    assertEquals(long.more, "ok");
    assertEquals(many.fieldsLeftOut, 150);
  }
});
