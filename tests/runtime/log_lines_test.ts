import { assertEquals } from "@std/assert";
import { createMemoryStore } from "../../adapters/memory/memory_store.ts";
import { createMemoryRuntime } from "../../mod.ts";
import { type JobContext, snooze } from "../../ports/handler.ts";
import type { LogLevel } from "../../ports/log.ts";
import { eventually } from "../conformance/eventually.ts";

/** A log that keeps its lines. */
function kept() {
  const lines: { level: LogLevel; event: string; fields: Readonly<Record<string, unknown>> }[] = [];
  const at = (level: LogLevel) => (event: string, fields: Readonly<Record<string, unknown>> = {}) =>
    void lines.push({ level, event, fields });
  return { lines, log: { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") } };
}

Deno.test("every end of an attempt has a line with the job's id as jobId; who succeeds has one for developers", async () => {
  const { lines, log } = kept();
  let runs = 0;
  const handler = (args: unknown) => {
    const { how } = args as { how: string };
    if (how === "snooze" && ++runs === 1) throw snooze(1);
    if (how === "fail") throw new Error("oh no");
  };
  const kind = { name: "k", queue: "default", maxAttempts: 1, timeout: 5000, handler };
  await using runtime = createMemoryRuntime({ registrars: [{ kinds: [kind] }], log });
  await runtime.start();
  const ids: Record<string, string> = {};
  for (const how of ["return", "snooze", "fail"]) {
    ids[how] = await runtime.enqueue("k", { how });
    await runtime.wait(ids[how], 5000);
  }
  const told = lines.filter(({ fields }) => "jobId" in fields)
    .map(({ level, event, fields }) => [level, event, fields["jobId"], typeof fields["tookMs"]]);
  assertEquals(told, [
    ["debug", "job completed", ids["return"], "number"],
    ["debug", "job snoozed", ids["snooze"], "undefined"],
    ["debug", "job completed", ids["snooze"], "number"],
    ["warn", "attempt failed", ids["fail"], "undefined"],
  ]);
  assertEquals(lines.filter(({ fields }) => "job" in fields), []);
});

Deno.test("a run that ends because its job was cancelled is nobody's trouble", async () => {
  const { lines, log } = kept();
  const begun = Promise.withResolvers<void>();
  const kind = {
    name: "k",
    queue: "default",
    maxAttempts: 3,
    timeout: 5000,
    handler: async (_args: unknown, { signal }: JobContext) => {
      begun.resolve();
      await new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    },
  };
  await using runtime = createMemoryRuntime({ registrars: [{ kinds: [kind] }], log });
  await runtime.start();
  const id = await runtime.enqueue("k");
  await begun.promise;
  await runtime.cancel(id);
  const result = await runtime.wait(id, 5000);
  assertEquals(result.done && result.state, "cancelled");
  assertEquals(lines.filter(({ level }) => level === "warn" || level === "error"), []);
  assertEquals(lines.filter(({ event }) => event === "run ended on its abort").length, 1);
});

Deno.test("jobs in a queue that no process works are told of once, and again when that comes back", async () => {
  const { lines, log } = kept();
  const store = createMemoryStore();
  let looks = 0;
  const look = store.unworked.bind(store);
  store.unworked = () => {
    looks++;
    return look();
  };
  const kind = { name: "k", queue: "default", maxAttempts: 1, timeout: 5000, handler: () => {} };
  const make = (work: string[], log?: ReturnType<typeof kept>["log"]) =>
    createMemoryRuntime({
      store,
      registrars: [{ kinds: [kind] }],
      work,
      settings: { purgeMs: 20, pollMs: 20 },
      ...(log === undefined ? {} : { log }),
    });
  const told = () => lines.filter(({ event }) => event.includes("no process works"));
  await using leading = make(["maintenance"], log);
  await leading.start();
  const first = await leading.enqueue("k");
  await eventually(() => told().length === 1);
  {
    await using working = make(["default"]);
    await working.start();
    assertEquals((await leading.wait(first, 5000)).done, true);
    const before = looks;
    await eventually(() => looks > before + 1);
  }
  const second = await leading.enqueue("k");
  await eventually(() => told().length === 2);
  assertEquals(told().map(({ level, fields }) => [level, fields]), [
    ["warn", { queue: "default" }],
    ["warn", { queue: "default" }],
  ]);
  await leading.cancel(second);
});

Deno.test("a start warns of a kind that is to keep twins out for longer than its completed jobs are kept", async () => {
  const { lines, log } = kept();
  const kind = { queue: "default", maxAttempts: 1, timeout: 5000, handler: () => {} };
  const kinds = [1000, 2000].map((within) => ({ ...kind, name: `for ${within}`, unique: { within } }));
  const settings = { retentionCompletedMs: 1000 };
  await using runtime = createMemoryRuntime({
    registrars: [{ kinds: [...kinds, { ...kind, name: "k" }] }],
    settings,
    log,
  });
  await runtime.start();
  const told = lines.filter(({ event }) => event.includes("keep out their twins"));
  assertEquals(told.map(({ level, fields }) => [level, fields["kind"]]), [["warn", "for 2000"]]);
});
