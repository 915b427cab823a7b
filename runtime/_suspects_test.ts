import { assertEquals } from "@std/assert";
import type { Claimed, Kind } from "../ports/mod.ts";
import { isSuspect, SuspectTurn } from "./_suspects.ts";

Deno.test("isSuspect() is a function's job that was in a process when it died; a module gets a process for itself", () => {
  const job: Claimed = { id: "1", run: 2, kind: "k", attempt: 2, maxAttempts: 3, args: "null", alone: true };
  const kind: Kind = { name: "k", queue: "default", maxAttempts: 3, timeout: 1000, handler: () => {} };
  assertEquals(isSuspect(job, kind), true);
  assertEquals(isSuspect({ ...job, alone: false }, kind), false);
  assertEquals(isSuspect(job, { ...kind, handler: "./handler.ts" }), false);
});

Deno.test("SuspectTurn is one holder's at a time", () => {
  const turn = new SuspectTurn();
  const [one, other] = [{}, {}];
  assertEquals([turn.take(one), turn.take(other), turn.take(one)], [true, false, true]);
  turn.pass(other);
  assertEquals(turn.take(other), false);
  turn.pass(one);
  assertEquals(turn.take(other), true);
});
