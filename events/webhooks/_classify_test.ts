import { assertEquals } from "@std/assert";
import { ofOutput } from "./_classify.ts";

const NOW = Date.parse("2026-11-29T12:00:00Z");

function typeOf(status: number, ...retryAfter: string[]): string {
  const output = { type: "answered" as const, status, retryAfter, answer: "", durationMs: 1 };
  const result = ofOutput(output, NOW, 36_000_000);
  return result.type === "discard" && result.isGone ? "gone" : result.type;
}

Deno.test("ofOutput(): what follows from each status", () => {
  const expected: [string, number[]][] = [
    ["delivered", [200, 201, 202, 204, 206, 299]],
    ["retry", [408, 429, 500, 501, 502, 503, 504, 520, 599]],
    ["gone", [410]],
    ["discard", [300, 301, 302, 303, 304, 307, 308, 400, 401, 403, 404, 405, 409, 413, 418, 422, 451]],
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
  assertEquals(typeOf(404, "120"), "discard");
});

Deno.test("ofOutput(): what came instead of an answer is tried again, a denied address never", () => {
  for (const reason of ["connection", "certificate", "timeout", "answer"] as const) {
    assertEquals(ofOutput({ type: "failed", reason, message: "", durationMs: 1 }, NOW, 1).type, "retry");
  }
  assertEquals(
    ofOutput({ type: "failed", reason: "denied", message: "", durationMs: 1 }, NOW, 1).type,
    "discard",
  );
});
