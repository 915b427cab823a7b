import { assert, assertEquals } from "@std/assert";
import type { AttemptOutcome } from "../../ports/executor.ts";
import { hostReport, takenOutcome } from "./host_report.ts";

Deno.test("hostReport() takes every report as it is", () => {
  const reports = [
    ["ready"],
    ["pong"],
    ["ended", 1, { type: "completed", output: "1", completedIn: false }],
    ["ended", 1, { type: "completed", output: null, completedIn: true }],
    ["ended", 1, { type: "failed", class: "error", message: "m", stack: "s" }],
    ["ended", 1, { type: "failed", class: "crash", message: "m" }],
    ["ended", 1, { type: "snoozed", delayMs: 5 }],
    ["ended", 1, { type: "discarded", reason: "r" }],
    ["ended", 1, { type: "released", reason: "r", alone: true }],
    ["progress", 1, 0.5, null],
    ["log", "info", "event", { n: 1 }],
    ["output", "kind", "id", "line"],
    ["call", 1, 2, "module", { any: "thing" }, null],
    ["call", 1, 2, "module", null, { permissions: {} }],
    ["endCall", 2],
    ["checked", 1, null],
    ["lost", "kind", "id"],
  ];
  for (const report of reports) {
    assertEquals(JSON.stringify(hostReport(JSON.stringify(report))), JSON.stringify(report));
  }
});

Deno.test("hostReport() refuses what only a forger would tell", () => {
  const forged: unknown[] = [
    null,
    {},
    [],
    [1],
    ["unknown"],
    ["constructor"],
    ["__proto__"],
    ["ready", 1],
    ["ended"],
    ["ended", "1", { type: "completed", output: null, completedIn: false }],
    ["ended", -1, { type: "completed", output: null, completedIn: false }],
    ["ended", 1.5, { type: "completed", output: null, completedIn: false }],
    ["ended", 1, null],
    ["ended", 1, []],
    ["ended", 1, { type: "lost" }],
    ["ended", 1, { type: "completed", output: 1, completedIn: false }],
    ["ended", 1, { type: "completed", output: "1" }],
    ["ended", 1, { type: "failed", class: "worker lost", message: "m" }],
    ["ended", 1, { type: "failed", class: "error", message: { toString: 1 } }],
    ["ended", 1, { type: "snoozed", delayMs: "soon" }],
    ["ended", 1, { type: "released", reason: "r", alone: "yes" }],
    ["progress", 1, 2, null],
    ["progress", 1, null, null],
    ["progress", 1, 0.5, {}],
    ["log", "fatal", "event", {}],
    ["log", "constructor", "event", {}],
    ["log", "info", 1, {}],
    ["log", "info", "event", []],
    ["log", "info", "event", null],
    ["output", "kind", "id", { line: 1 }],
    ["call", 1, 2, { href: "x" }, null, null],
    ["call", 1, 2, "module", null, "options"],
    ["checked", 1, 5],
    ["lost", "kind"],
  ];
  for (const frame of forged) assertEquals(hostReport(JSON.stringify(frame)), null, JSON.stringify(frame));
  for (const text of ["", "{", '["ready"', "undefined", "NaN"]) assertEquals(hostReport(text), null, text);
});

Deno.test("takenOutcome() hands on nothing that a store could refuse", () => {
  const completed = (output: string): AttemptOutcome => ({ type: "completed", output, completedIn: false });
  assertEquals(takenOutcome(completed('{"a": 1}'), false), completed('{"a":1}'));
  assertEquals(takenOutcome(completed("123456789012345678901"), false), completed("123456789012345678901"));
  const large = `"${"x".repeat(65 * 1024)}"`;
  for (const output of ["", "{", "undefined", '"\\u0000"', '"\\ud800"', large]) {
    assertEquals(takenOutcome(completed(output), false).type, "failed", output.slice(0, 20));
  }
  assertEquals(takenOutcome(completed(large), true), completed(large));
  assertEquals(takenOutcome({ type: "snoozed", delayMs: NaN }, false), { type: "snoozed", delayMs: 0 });
  const snoozed = takenOutcome({ type: "snoozed", delayMs: 1e300 }, false);
  assert(snoozed.type === "snoozed" && snoozed.delayMs < 1e12);
  const long = "x".repeat(100_000) + "\0";
  const failed = takenOutcome({ type: "failed", class: "error", message: long, stack: long }, false);
  assert(failed.type === "failed" && failed.message.length <= 8192 && failed.stack!.length <= 8192);
  const discarded = takenOutcome({ type: "discarded", reason: long }, false);
  assert(discarded.type === "discarded" && discarded.reason.length <= 8192);
});
