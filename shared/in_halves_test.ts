import { assertEquals, assertRejects } from "@std/assert";
import { DatabaseUnavailableError, StatementTimeoutError } from "../ports/errors.ts";
import { inHalves, stepInHalves } from "./in_halves.ts";

const items = Array.from({ length: 1000 }, (_, n) => n);

function worker(isBad: (item: number) => boolean, error: Error = new Error("refused")) {
  const calls: number[] = [];
  return {
    calls,
    work: (part: readonly number[]) => {
      calls.push(part.length);
      return part.some(isBad) ? Promise.reject(error) : Promise.resolve(part.length);
    },
  };
}

Deno.test("what is not refused is done in one go", async () => {
  const { calls, work } = worker(() => false);
  assertEquals(await inHalves(items, work), { done: 1000, refused: [] });
  assertEquals(calls, [1000]);
  assertEquals(await inHalves([], work), { done: 0, refused: [] });
});

Deno.test("a refused one is found by halves, and all others are done", async () => {
  const { calls, work } = worker((item) => item === 700 || item === 3);
  const { done, refused } = await inHalves(items, work);
  assertEquals([done, refused.map(({ item }) => item)], [998, [3, 700]]);
  assertEquals(calls.length < 45, true, String(calls.length));
});

Deno.test("what is refused for a cause that goes away meanwhile is done all the same", async () => {
  let left = 3;
  const { done, refused } = await inHalves([1, 2, 3], worker(() => left-- > 0).work);
  assertEquals([done, refused], [3, []]);
});

Deno.test("one that is all there is can be refused by itself", async () => {
  const { done, refused } = await inHalves([1], worker(() => true).work);
  assertEquals([done, refused.length], [0, 1]);
});

Deno.test("where all is refused, or the database is away, nobody is to blame", async () => {
  const all = worker(() => true);
  await assertRejects(() => inHalves(items, all.work), Error, "refused");
  assertEquals(all.calls.length < 50, true, String(all.calls.length));
  const away = worker((item) => item === 500, new DatabaseUnavailableError("It is away"));
  await assertRejects(() => inHalves(items, away.work), DatabaseUnavailableError);
  assertEquals(away.calls, [1000]);
});

Deno.test("of a step of a sweep that is refused as a whole one stands for all, and an outage is thrown", async () => {
  const { done, refused } = await stepInHalves(items, worker(() => true).work);
  assertEquals([done, refused.map(({ item }) => item)], [0, [0]]);
  const away = worker((item) => item === 500, new DatabaseUnavailableError("It is away"));
  await assertRejects(() => stepInHalves(items, away.work), DatabaseUnavailableError);
});

Deno.test("a step of a sweep goes on behind many that are refused in a row, and names each", async () => {
  const { done, refused } = await stepInHalves(items, worker((item) => item < 40 || item === 700).work);
  assertEquals([done, refused.length], [959, 41]);
  assertEquals(refused.map(({ item }) => item).sort((one, other) => one - other), [
    ...items.slice(0, 40),
    700,
  ]);
  const last = await stepInHalves(items.slice(0, 17), worker(() => true).work);
  assertEquals([last.done, last.refused.map(({ item }) => item)], [0, [0]]);
});

Deno.test("a slow item is refused by itself, and one that waits for a lock too long is an outage", async () => {
  const slow = worker((item) => item === 700, new StatementTimeoutError("statement", 50));
  const { done, refused } = await inHalves(items, slow.work);
  assertEquals([done, refused.map(({ item }) => item)], [999, [700]]);
  const locked = worker((item) => item === 700, new StatementTimeoutError("lock", 50));
  await assertRejects(() => inHalves(items, locked.work), StatementTimeoutError);
  assertEquals(locked.calls, [1000]);
});
