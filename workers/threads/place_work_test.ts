import { assertEquals, assertStrictEquals } from "@std/assert";
import type { Work } from "../work.ts";
import { placeWork } from "./place_work.ts";
import type { Held, Thread, ThreadRole } from "./thread.ts";

interface Given {
  readonly role?: ThreadRole;
  readonly queues?: readonly string[];
  readonly blocked?: boolean;
  readonly full?: boolean;
}

// The choice looks at a few facts of a thread only, and a real one can't be told to be blocked.
function thread(given: Given = {}): Thread {
  const held = new Map((given.queues ?? []).map((queue, key) => [key, { work: { queue } } as Held]));
  const facts = {
    role: given.role ?? { type: "pool" },
    held,
    blocked: given.blocked ?? false,
    retiring: false,
    hasRoom: given.full !== true,
  };
  return facts as unknown as Thread;
}

const MAIL = { queue: "mail", ownThread: false } as Work;

Deno.test("placeWork() takes an idle thread, then starts up to the pool's size, then the least loaded", () => {
  const idle = thread();
  const one = thread({ queues: ["a"] });
  const two = thread({ queues: ["a", "a"] });
  assertStrictEquals(placeWork(MAIL, [two, idle], 2).best, idle);
  assertEquals(placeWork(MAIL, [one], 2).start, { type: "pool" });
  assertEquals(placeWork(MAIL, [two, one], 2).start, null);
  assertStrictEquals(placeWork(MAIL, [two, one], 2).best, one);
});

Deno.test("placeWork() gives a queue at most two threads more while all threads are blocked", () => {
  const blocked = thread({ queues: ["slow"], blocked: true });
  const extra = thread({ role: { type: "extra", queue: "mail" }, queues: ["mail"], blocked: true });
  assertEquals(placeWork(MAIL, [blocked], 1).start, { type: "extra", queue: "mail" });
  assertEquals(placeWork(MAIL, [blocked, extra], 1).start, { type: "extra", queue: "mail" });
  assertEquals(placeWork(MAIL, [blocked, extra, extra], 1), { start: null, best: undefined });
});

Deno.test("placeWork() leaves one queue's extra thread to that queue", () => {
  const blocked = thread({ queues: ["slow"], blocked: true });
  const extra = thread({ role: { type: "extra", queue: "other" } });
  assertEquals(placeWork(MAIL, [blocked, extra], 1).start, { type: "extra", queue: "mail" });
});

Deno.test("placeWork() lets a queue wait for a full thread only where its own work runs", () => {
  assertEquals(placeWork(MAIL, [thread({ queues: ["mail"], full: true })], 1), {
    start: null,
    best: undefined,
  });
  assertEquals(placeWork(MAIL, [thread({ queues: ["slow"], full: true })], 1).start, {
    type: "extra",
    queue: "mail",
  });
});

Deno.test("placeWork() gives work with a thread of its own an idle such thread, or a new one", () => {
  const own = thread({ role: { type: "own" } });
  const work = { queue: "mail", ownThread: true } as Work;
  assertStrictEquals(placeWork(work, [thread(), own], 1).best, own);
  assertEquals(placeWork(work, [thread()], 1).start, { type: "own" });
});
