import { assertEquals } from "@std/assert";
import { ClaimPositions } from "./claim_positions.ts";

function clock(): { now: number; read: () => number } {
  const clock = { now: 1000, read: () => clock.now };
  return clock;
}

const row = (priority: number, at: string, id: string) => ({ priority, at, id });

Deno.test("the first claim looks from the start, the next ones begin where it ended", () => {
  const time = clock();
  const positions = new ClaimPositions(time.read);
  const first = positions.begin();
  assertEquals(first.from[1], { at: "-infinity", id: "0" });
  first.end([row(2, "2026-01-01T00:00:00.000001Z", "9")], true);
  assertEquals(positions.begin().from[1], { at: "2026-01-01T00:00:00.000001Z", id: "9" });
  assertEquals(positions.begin().from[0], { at: "-infinity", id: "0" });
});

Deno.test("a position never goes back, and ids compare as numbers", () => {
  const time = clock();
  const positions = new ClaimPositions(time.read);
  positions.begin().end([row(2, "2026-01-01T00:00:00.000001Z", "10")], true);
  positions.begin().end([row(2, "2026-01-01T00:00:00.000001Z", "9")], true);
  assertEquals(positions.begin().from[1]?.id, "10");
  positions.begin().end([row(2, "2025-01-01T00:00:00.000001Z", "99")], true);
  assertEquals(positions.begin().from[1]?.id, "10");
});

Deno.test("a full look moves the position of the priority that it ended in back, and no other", () => {
  const time = clock();
  const positions = new ClaimPositions(time.read);
  const at = (day: number) => `2026-01-0${day}T00:00:00.000001Z`;
  positions.begin().end([row(1, at(5), "50"), row(2, at(5), "51"), row(3, at(5), "52")], false);
  time.now += 100;
  positions.begin().end([row(1, at(1), "7"), row(2, at(1), "8"), row(2, at(2), "9")], true);
  assertEquals(positions.begin().from.map(({ id }) => id), ["50", "9", "52", "0"]);
  assertEquals(positions.lookDueMs(), 100, "what it did not reach is still owed");
});

Deno.test("a look that came short moves no position back", () => {
  const time = clock();
  const positions = new ClaimPositions(time.read);
  positions.begin().end([row(2, "2026-01-05T00:00:00.000001Z", "50")], false);
  time.now += 100;
  positions.begin().end([row(2, "2026-01-01T00:00:00.000001Z", "7")], false);
  assertEquals(positions.begin().from[1]?.id, "50");
});

Deno.test("looks from the start pause at least 100 ms and 20 times what the last one took", () => {
  const time = clock();
  const positions = new ClaimPositions(time.read);
  const look = positions.begin();
  time.now += 30;
  look.end([row(2, "2026-01-01T00:00:00.000001Z", "1")], true);
  time.now += 599;
  assertEquals(positions.begin().from[1]?.id, "1");
  time.now += 1;
  assertEquals(positions.begin().from[1]?.id, "0");
});

Deno.test("after a claim from the position a look is owed, and after a look that came short none is", () => {
  const time = clock();
  const positions = new ClaimPositions(time.read);
  positions.begin().end([], false);
  assertEquals(positions.lookDueMs(), null);
  time.now += 40;
  positions.begin().end([], false);
  assertEquals(positions.lookDueMs(), 60);
  time.now += 100;
  assertEquals(positions.lookDueMs(), 0);
  positions.begin().end([], false);
  assertEquals(positions.lookDueMs(), null);
});
