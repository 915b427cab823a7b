import { assertEquals } from "@std/assert";
import { defineApp } from "./app.ts";

Deno.test("defineApp() has three queues by itself, adds those of the table, and lets it change their numbers", () => {
  const table = (queues?: Record<string, number>) =>
    defineApp({ registrars: [], ...(queues ? { queues } : {}) }).queues.map((
      queue,
    ) => [queue.name, queue.concurrency]);
  assertEquals(table(), [["default", 5], ["maintenance", 2], ["webhook", 16]]);
  assertEquals(table({ webhook: 64, outbound: 8 }), [
    ["default", 5],
    ["maintenance", 2],
    ["webhook", 64],
    ["outbound", 8],
  ]);
});
