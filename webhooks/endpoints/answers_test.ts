import { assertEquals } from "@std/assert";
import { Answers, type Sign } from "./answers.ts";

function seen(...signs: readonly (readonly [Sign, count: number])[]): Answers {
  const answers = new Answers();
  let delivery = 0;
  for (const [sign, count] of signs) {
    for (let time = 0; time < count; time++) answers.note("e", String(delivery++), sign);
  }
  return answers;
}

const CASES:
  readonly (readonly [name: string, signs: readonly (readonly [Sign, number])[], isDown: boolean])[] = [
    ["one that is silent", [["silent", 1]], false],
    ["two that are silent", [["silent", 2]], true],
    ["two of four that are silent", [["well", 2], ["silent", 2]], false],
    ["three of five that are silent", [["well", 2], ["silent", 3]], true],
    ["nine with another status", [["refused", 9]], false],
    ["ten with another status", [["refused", 10]], true],
    ["ten of twenty with another status", [["well", 10], ["refused", 10]], false],
    ["eleven of twenty with another status", [["well", 9], ["refused", 11]], true],
    ["eighteen of nineteen with another status", [["well", 1], ["refused", 18]], false],
    ["ten of which one is silent", [["refused", 9], ["silent", 1]], true],
    ["many that were well before", [["well", 100], ["silent", 11]], true],
  ];

for (const [name, signs, isDown] of CASES) {
  Deno.test(`Answers: ${name}: the endpoint ${isDown ? "is" : "is not"} down`, () => {
    assertEquals(seen(...signs).isDown("e"), isDown);
  });
}

Deno.test("Answers counts a delivery's own retries once, and each endpoint for itself", () => {
  const answers = new Answers();
  for (let time = 0; time < 100; time++) answers.note("e", "1", "silent");
  assertEquals(answers.isDown("e"), false);
  answers.note("other", "2", "silent");
  assertEquals(answers.isDown("e"), false);
  answers.note("e", "2", "silent");
  assertEquals([answers.isDown("e"), answers.isDown("other")], [true, false]);
  answers.forgive("e");
  assertEquals(answers.isDown("e"), false);
});

Deno.test("Answers: what one delivery was answered well says nothing of that delivery", () => {
  const answers = seen(["well", 1]);
  assertEquals([answers.isWell("e", "0"), answers.isWell("e", "1")], [false, true]);
  assertEquals(answers.wasWellSince("e", "1", performance.now() - 1000), true);
  assertEquals(answers.wasWellSince("e", "1", performance.now() + 1000), false);
  assertEquals(answers.wasWellSince("e", "0", -Infinity), false);
});
