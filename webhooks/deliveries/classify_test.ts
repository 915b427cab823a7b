import { assertEquals } from "@std/assert";
import { isRefusal, ofOutput } from "./classify.ts";

const NOW = Date.parse("2026-11-29T12:00:00Z");

const SETTINGS = { retryAfterMs: 36_000_000, permanentStatuses: [] };

function typeOf(status: number, ...retryAfter: string[]): string {
  const output = { type: "answered" as const, status, retryAfter, answer: "", durationMs: 1 };
  const result = ofOutput(output, NOW, SETTINGS);
  return result.type === "discard" && result.isGone ? "gone" : result.type;
}

Deno.test("ofOutput(): what follows from each status", () => {
  const expected: [string, number[]][] = [
    ["delivered", [200, 201, 202, 204, 206, 299]],
    ["retry", [
      300,
      301,
      302,
      303,
      304,
      307,
      308,
      400,
      401,
      403,
      404,
      405,
      408,
      409,
      413,
      418,
      422,
      429,
      451,
    ]],
    ["retry", [500, 501, 502, 503, 504, 520, 599]],
    ["gone", [410]],
  ];
  for (const [type, statuses] of expected) {
    for (const status of statuses) assertEquals(typeOf(status), type, String(status));
  }
});

Deno.test("ofOutput(): Retry-After counts with 429 and 503 only", () => {
  for (const status of [429, 503]) {
    assertEquals(typeOf(status, "120"), "later");
    assertEquals(typeOf(status, "Sun, 29 Nov 2026 12:02:00 GMT"), "later");
    assertEquals(typeOf(status, "Sun, 29 Nov 2026 11:58:00 GMT"), "retry");
    assertEquals(typeOf(status, "abc"), "retry");
  }
  assertEquals(typeOf(500, "120"), "retry");
  assertEquals(typeOf(404, "120"), "retry");
});

Deno.test("ofOutput(): a status that is said to be permanent discards, also with Retry-After, and 410 disables", () => {
  for (const status of [301, 400, 410, 503]) {
    const output = { type: "answered" as const, status, retryAfter: ["1"], answer: "", durationMs: 1 };
    const result = ofOutput(output, NOW, { ...SETTINGS, permanentStatuses: [301, 400, 410, 503] });
    assertEquals([result.type, result.type === "discard" && result.isGone], ["discard", status === 410]);
  }
});

Deno.test("isRefusal(): what a receiver won't have, and not what it puts off", () => {
  assertEquals([null, 301, 400, 404, 408, 422, 429, 499, 500].filter(isRefusal), [400, 404, 422, 499]);
});

Deno.test("ofOutput(): what came instead of an answer is tried again, a denied address never", () => {
  for (const reason of ["connection", "certificate", "timeout", "answer"] as const) {
    assertEquals(
      ofOutput({ type: "failed", reason, message: "", durationMs: 1 }, NOW, SETTINGS).type,
      "retry",
    );
  }
  assertEquals(
    ofOutput({ type: "failed", reason: "denied", message: "", durationMs: 1 }, NOW, SETTINGS).type,
    "discard",
  );
});
