import { assertEquals, assertThrows } from "@std/assert";
import { CompositionError } from "../ports/errors.ts";
import { type AppSpec, defineApp } from "./app.ts";

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

Deno.test("defineApp() names every fault of its table at once, and members that are not known", () => {
  const faultsOf = (spec: unknown) =>
    assertThrows(() => defineApp(spec as AppSpec), CompositionError).faults.length;
  assertEquals(faultsOf({ registrars: [], queues: { a: 0, b: NaN, c: 1.5 } }), 3);
  assertEquals(faultsOf({ registrars: [], queue: {} }), 1);
  assertEquals(faultsOf({ queues: [] }), 2);
  assertEquals(faultsOf(null), 1);
});
