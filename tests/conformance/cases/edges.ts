import { assert, assertEquals, assertRejects } from "../../support/assert.ts";
import { InvalidJsonError, TooLargeError } from "../../../ports/errors.ts";
import type { Case } from "../case.ts";
import { eventually, pause } from "../eventually.ts";
import { bareJob, SIGNALS_ALONE } from "../stage.ts";

const REFUSED: readonly (readonly [string, unknown, string])[] = [
  ["U+0000 in a text", { note: "a\u0000b" }, "args.note"],
  ["U+0000 in a nested array", { a: [["x\u0000"]] }, "args.a[0][0]"],
  ["U+0000 in a key", { "a\u0000": 1 }, 'args["a\\u0000"]'],
  ["half a surrogate pair", { note: "\ud83d" }, "args.note"],
  ["a BigInt", { id: 10n }, "args.id"],
  ["undefined in a list", { a: [undefined] }, "args.a[0]"],
  ["NaN", [NaN], "args[0]"],
  ["a function", { f: () => {} }, "args.f"],
  ["a Date", { at: new Date(0) }, "args.at"],
  ["a cycle", cycle(), "args.self"],
];

function cycle(): unknown {
  const value: Record<string, unknown> = {};
  value.self = value;
  return value;
}

/** Edge cases of data, and the bounds. */
export const edgeCases: readonly Case[] = [
  ...REFUSED.map(([what, args, path]): Case => ({
    name: `${what} in the args is refused by a typed error that names ${path}`,
    async run(stage) {
      const runtime = stage.build({ kinds: [stage.kind("k")] });
      const error = await assertRejects(() => runtime.enqueue("k", args as never), InvalidJsonError);
      assertEquals(error.path, path);
      assertEquals(await runtime.list(), []);
    },
  })),
  {
    name: "args of 1 MiB are stored and read back; above it there is a typed error with the bound",
    async run(stage) {
      const echo = stage.kind("echo", { handler: await stage.handler("echo"), maxAttempts: 1 });
      const runtime = await stage.start({ kinds: [echo] });
      const most = "x".repeat(1024 * 1024 - 2);
      const id = await runtime.enqueue("echo", most);
      assertEquals((await runtime.get(id))!.args, most);
      const error = await assertRejects(() => runtime.enqueue("echo", most + "x"), TooLargeError);
      assertEquals(error.max, 1024 * 1024);
      const open = await stage.begin();
      await assertRejects(
        () => runtime.with(open.tx).enqueue("echo", "\u00e9".repeat(600_000)),
        TooLargeError,
      );
      await open.rollback();
      // Its output is larger than the store keeps. This must fail its own attempt and nothing else.
      await stage.until(runtime, id, "discarded");
    },
  },
  {
    name: "args of any size wake an idle runtime, inside a transaction and outside",
    async run(stage) {
      const runtime = await stage.start({ kinds: [stage.kind("k")], settings: SIGNALS_ALONE });
      await pause(300);
      for (
        const note of ["a".repeat(7900), "\u{1f600}".repeat(7900), "b".repeat(20_000), "c".repeat(1_000_000)]
      ) {
        const args = { ...stage.act({ do: "return" }), note };
        const outside = await runtime.enqueue("k", args);
        await stage.until(runtime, outside, "completed", 2000);
        await pause(100);
        const inside = await stage.transaction(({ tx }) => runtime.with(tx).enqueue("k", args));
        await stage.until(runtime, inside, "completed", 2000);
      }
    },
  },
  {
    name: "names of 128 characters work, whatever they are made of",
    async run(stage) {
      const name = "\u{1f600}'\"\\%_;--".repeat(20).slice(0, 126).toWellFormed();
      const runtime = await stage.start({
        kinds: [stage.kind(`k${name}`, { queue: `q${name}` })],
        queues: [{ name: `q${name}`, concurrency: 2 }],
      });
      const id = await runtime.enqueue(`k${name}`, stage.act({ do: "context" }), { uniqueByArgs: true });
      const job = await stage.until(runtime, id, "completed");
      assertEquals([job.kind, job.queue], [`k${name}`, `q${name}`]);
      assertEquals((await runtime.list({ kind: `k${name}`, queue: `q${name}` })).length, 1);
    },
  },
  {
    name: "list and overview stay quick with jobs of 1 MB, and list sends previews only",
    async run(stage) {
      const runtime = stage.build({ kinds: [stage.kind("k")] });
      const note = "x".repeat(1_000_000);
      for (let n = 0; n < 10; n++) await runtime.enqueue("k", { n, note });
      const asked = performance.now();
      const jobs = await runtime.list();
      await runtime.overview();
      assert(performance.now() - asked < 1000);
      assertEquals(jobs.every(({ argsPreview }) => argsPreview.length <= 200), true);
    },
  },
  {
    name:
      "a stored integer beyond 2^53 is shown digit by digit, never handed to a handler changed, never rewritten",
    async run(stage) {
      const store = await stage.store();
      const args = '{"id":1970670598291982290}';
      const [made] = await store.insert([{ ...bareJob("echo", null), args, maxAttempts: 1 }]);
      const check = async () => {
        const job = (await store.get(made!.id))!;
        assertEquals(job.argsText.replaceAll(" ", ""), args);
        assertEquals(job.unsafeNumbers, [{ path: "args.id", digits: "1970670598291982290" }]);
      };
      await check();
      const runtime = await stage.start({
        kinds: [stage.kind("echo", { handler: await stage.handler("echo") })],
      });
      const job = await stage.until(runtime, made!.id, "discarded");
      assert(job.errors[0]!.message.includes("1970670598291982290"), job.errors[0]!.message);
      await runtime.retry(made!.id);
      await eventually(async () => (await runtime.get(made!.id))!.errors.length === 2);
      await check();
    },
  },
  {
    name: "an error's text is kept as it is: markup, U+2028, an emoji",
    async run(stage) {
      const runtime = await stage.start({ kinds: [stage.kind("k", { maxAttempts: 1 })] });
      const message = "a\u2028b \u{1f600} </script><script>alert(1)</script>";
      const id = await runtime.enqueue("k", stage.act({ do: "fail", message }));
      assertEquals((await stage.until(runtime, id, "discarded")).errors[0]!.message, message);
    },
  },
  {
    name: "an error's text with U+0000 or half a surrogate pair is recorded all the same",
    async run(stage) {
      const runtime = await stage.start({ kinds: [stage.kind("k", { maxAttempts: 1 })] });
      const id = await runtime.enqueue("k", stage.act({ do: "throw", what: "unstorable" }));
      const job = await stage.until(runtime, id, "discarded");
      const { message } = job.errors[0]!;
      assert(message.startsWith("before") && message.endsWith("after"), JSON.stringify(message));
    },
  },
];
