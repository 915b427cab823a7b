import { assert, assertEquals, assertFalse } from "@std/assert";
import type { Held } from "./thread.ts";
import { WaitingLine } from "./waiting_line.ts";

let keys = 0;
function held(queue: string): Held {
  return { key: ++keys, work: { queue } } as Held;
}

Deno.test("WaitingLine lets the queues take turns", () => {
  const line = new WaitingLine();
  for (const queue of ["a", "a", "a", "b", "c"]) line.push(held(queue));
  const taken: string[] = [];
  line.drain(({ work }) => {
    taken.push(work.queue);
    return true;
  });
  assertEquals(taken.join(""), "abcaa");
  assertEquals(line.size, 0);
});

Deno.test("WaitingLine keeps what was not taken, in order", () => {
  const line = new WaitingLine();
  const all = ["a", "a", "b"].map(held);
  for (const one of all) line.push(one);
  line.drain((one) => one === all[0] || one === all[2]);
  assertEquals(line.size, 1);
  assert(line.remove(all[1]!));
  line.push(all[0]!);
  line.clear();
  assertEquals(line.size, 0);
  assertFalse(line.remove(all[0]!));
});

Deno.test("WaitingLine.remove() says whether it was there", () => {
  const line = new WaitingLine();
  const one = held("a");
  line.push(one);
  assert(line.remove(one));
  assertFalse(line.remove(one));
  assertEquals(line.size, 0);
});
