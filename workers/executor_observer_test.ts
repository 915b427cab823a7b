import { assertEquals } from "@std/assert";
import type { Log } from "../ports/log.ts";
import { createExecutor } from "./executor.ts";
import { fixture, HANDLERS } from "./testdata/executor_fixture.ts";

function broken(): never {
  throw new Deno.errors.BrokenPipe("nobody reads it any more");
}

const BROKEN_LOG: Log = { debug: broken, info: broken, warn: broken, error: broken };

for (const isolation of ["thread", "process"] as const) {
  Deno.test(`a log and an output that throw lose no end: ${isolation}`, async () => {
    await using f = fixture({ log: BROKEN_LOG, output: broken, threads: 1 });
    const noisy = ["log", "print"].map((action) => f.run({ isolation, args: { do: action } }));
    const quiet = [1, 2, 3].map(() => f.run({ isolation, args: { do: "nothing" } }));
    for (const { ended } of [...noisy, ...quiet]) assertEquals((await ended).type, "completed");
    assertEquals(f.executor.stats().running, 0);
  });

  Deno.test(`an observer that throws loses no other's end: ${isolation}`, async () => {
    await using f = fixture({ threads: 1 });
    f.executor.run({
      id: "thrower",
      run: 1,
      queue: "default",
      attempt: 1,
      maxAttempts: 1,
      args: JSON.stringify({ do: "progress" }),
      alone: false,
      kind: { name: "a.kind", queue: "default", maxAttempts: 1, timeout: 9000, handler: HANDLERS, isolation },
    }, { progress: broken, ended: broken });
    // Of the same kind, so that they share its process.
    const others = [1, 2, 3].map(() => f.run({ name: "a.kind", isolation, args: { do: "progress" } }));
    for (const { ended, told } of others) {
      assertEquals((await ended).type, "completed");
      assertEquals(told.length, 2);
    }
    const thrown = f.lines.map((line) => JSON.parse(line)).filter(({ jobId }) => jobId === "thrower");
    // Twice by its progress, once by its end.
    assertEquals(thrown.map(({ level }) => level), ["error", "error", "error"]);
  });
}

Deno.test("a function's end is told though the log throws", async () => {
  const executor = createExecutor({ log: BROKEN_LOG, graceMs: 20 });
  const { promise, resolve } = Promise.withResolvers<string>();
  executor.run({
    id: "heedless",
    run: 1,
    queue: "default",
    attempt: 1,
    maxAttempts: 1,
    args: "{}",
    alone: false,
    kind: {
      name: "a.kind",
      queue: "default",
      maxAttempts: 1,
      timeout: 20,
      handler: () => new Promise<void>((resolve) => setTimeout(resolve, 200)),
    },
  }, { progress: () => {}, ended: ({ type }) => resolve(type) });
  assertEquals(await promise, "failed");
  await executor.stop();
});
