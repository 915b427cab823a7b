import { assert, assertEquals } from "@std/assert";
import { type Turn, Turns } from "./turns.ts";

function leave(turn: Turn, tookMs: number | null = 10): void {
  if (turn.type === "later") throw new Error("expected a turn");
  turn.leave(tookMs);
}

Deno.test("Turns lets so many go, a few wait, and the rest comes back one after the other", async () => {
  const turns = new Turns(() => 1000, 100);
  for (const id of ["a", "b"]) leave(await turns.take(id, 2));
  const gone = await Promise.all([turns.take("a", 2), turns.take("a", 2)]);
  const waiting = [1, 2, 3, 4].map(() => turns.take("a", 2));
  const sentAway = await Promise.all(Array.from({ length: 100 }, () => turns.take("a", 2)));
  const delays = sentAway.map((turn) => turn.type === "later" ? turn.inMs : 0);
  assert(delays[0]! >= 250 && delays.every((ms, index) => index === 0 || ms > delays[index - 1]! - 20));
  // 10 ms is what an unknown endpoint counts as taking: two at once take one every 5 ms.
  assert(Math.abs(delays.at(-1)! - delays[0]! - 99 * 5) < 200, delays.join());
  // Another endpoint has turns of its own.
  leave(await turns.take("b", 2));
  gone.forEach((turn) => leave(turn));
  for (const turn of waiting.slice(0, 2)) leave(await turn);
  for (const turn of waiting.slice(2)) leave(await turn);
  leave(await turns.take("a", 1));
});

Deno.test("Turns keeps nobody waiting for long", async () => {
  const turns = new Turns(() => 1000, 100);
  const first = await turns.take("a", 1);
  const began = performance.now();
  const second = await turns.take("a", 1);
  assertEquals(second.type, "later");
  assert(performance.now() - began > 900);
  leave(first);
  leave(await turns.take("a", 1));
});

Deno.test("Turns never sends anyone away for more than a minute", async () => {
  const turns = new Turns(() => 1000, 100);
  const held = await turns.take("a", 1);
  const waiting = [turns.take("a", 1), turns.take("a", 1)];
  const away = await Promise.all(Array.from({ length: 20_000 }, () => turns.take("a", 1)));
  assert(away.every((turn) => turn.type === "later" && turn.inMs <= 60_000));
  leave(held);
  for (const turn of waiting) leave(await turn);
});

Deno.test("Turns does not spread what it sends away by one delivery that took long", async () => {
  const turns = new Turns(() => 1000, 100);
  leave(await turns.take("a", 1), 900);
  const held = await turns.take("a", 1);
  const waiting = [turns.take("a", 1), turns.take("a", 1)];
  const away = await Promise.all(Array.from({ length: 50 }, () => turns.take("a", 1)));
  const delays = away.map((turn) => turn.type === "later" ? turn.inMs : 0);
  const spread = delays.at(-1)! - delays[0]!;
  assert(spread < 5000, `50 of them are spread over ${spread} ms`);
  leave(held);
  for (const turn of waiting) {
    const after = await turn;
    if (after.type === "go") after.leave(10);
  }
});

Deno.test("Turns gives every slow endpoint a share of the slots that slow ones have", async () => {
  const turns = new Turns(() => 8, 4);
  const becomeSlow = async (id: string) => {
    for (let time = 0; time < 3; time++) leave(await turns.take(id, 8), 5000);
  };
  for (const id of ["a", "b"]) await becomeSlow(id);
  const taken = async (id: string) => {
    const all = await Promise.all(Array.from({ length: 8 }, () => turns.take(id, 8)));
    return all.filter(({ type }) => type === "go").length;
  };
  // Of the four slots for slow ones.
  assertEquals([await taken("a"), await taken("b")], [2, 1]);
});

Deno.test("Turns learns nothing from a turn in which nothing was delivered", async () => {
  const turns = new Turns(() => 2, 1);
  for (let time = 0; time < 3; time++) leave(await turns.take("slow", 8), 5000);
  for (let time = 0; time < 30; time++) leave(await turns.take("slow", 8), null);
  const held = await turns.take("slow", 8);
  assertEquals((await turns.take("slow", 8)).type, "later");
  leave(held);
});

Deno.test("Turns gives an endpoint that nobody has met two turns, and all of them after its first answer", async () => {
  const turns = new Turns(() => 1000, 100);
  const first = await Promise.all([turns.take("a", 8), turns.take("a", 8)]);
  const waiting = [turns.take("a", 8), turns.take("a", 8)];
  assertEquals((await turns.take("a", 8)).type, "later");
  leave(first[0]!);
  leave(await waiting[0]!);
  const more = await Promise.all(Array.from({ length: 6 }, () => turns.take("a", 8)));
  assertEquals(more.map(({ type }) => type), Array.from({ length: 6 }, () => "go"));
  [first[1]!, await waiting[1]!, ...more].forEach((turn) => leave(turn));
});

Deno.test("Turns counts as slow what has been under way for a second, though it has not ended", async () => {
  const turns = new Turns(() => 8, 3);
  // Quick as far as anybody knows.
  for (const id of ["a", "b"]) leave(await turns.take(id, 8));
  const held = await Promise.all([turns.take("a", 8), turns.take("a", 8), turns.take("b", 8)]);
  await new Promise((resolve) => setTimeout(resolve, 1050));
  // There is no more room for slow ones, and nobody waits for them in a slot.
  const began = performance.now();
  for (const id of ["a", "b"]) {
    const turn = await turns.take(id, 8);
    assert(turn.type === "later" && turn.inMs >= 1000, JSON.stringify(turn));
  }
  assert(performance.now() - began < 500);
  held.forEach((turn) => leave(turn));
  leave(await turns.take("b", 8));
});

Deno.test("Turns leaves half of the slots to quick endpoints, however many others nobody has met", async () => {
  const turns = new Turns(() => 4, 2);
  leave(await turns.take("quick", 8));
  const unknown = await Promise.all(
    Array.from({ length: 10 }, (_, index) => turns.take(`unknown ${index}`, 8)),
  );
  assertEquals(unknown.filter(({ type }) => type === "go").length, 4);
  const quick = await Promise.all(Array.from({ length: 8 }, () => turns.take("quick", 8)));
  assertEquals(quick.filter(({ type }) => type === "go").length, 8);
  for (const turn of [...unknown, ...quick]) if (turn.type === "go") leave(turn);
});
