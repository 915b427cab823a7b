import { assertEquals } from "@std/assert";
import { ClaimPositions } from "./claim_positions.ts";

function clock(): { now: number; read: () => number } {
  const clock = { now: 1000, read: () => clock.now };
  return clock;
}

const at = (day: number) => `2026-01-0${day}T00:00:00.000001Z`;
const row = (priority: number, at: string, id: string) => ({ priority, at, id });
const idsOf = (positions: ClaimPositions) => positions.begin().from.map(({ id }) => id);

Deno.test("the first claim reads from the start, the next ones begin where it ended", () => {
  const positions = new ClaimPositions();
  const first = positions.begin();
  assertEquals(first.from[1], { at: "-infinity", id: "0" });
  first.end([row(2, at(1), "9")], true);
  assertEquals(positions.begin().from[1], { at: at(1), id: "9" });
  assertEquals(positions.begin().from[0], { at: "-infinity", id: "0" });
});

Deno.test("a position never goes back, and ids compare as numbers", () => {
  const positions = new ClaimPositions();
  positions.begin().end([row(2, at(2), "10")], true);
  positions.begin().end([row(2, at(2), "9")], true);
  assertEquals(idsOf(positions)[1], "10");
  positions.begin().end([row(2, at(1), "99")], true);
  assertEquals(idsOf(positions)[1], "10");
});

Deno.test("a look ends at the positions, and the next claim begins before what it found", () => {
  const positions = new ClaimPositions();
  positions.begin().end([row(1, at(5), "50"), row(2, at(5), "51")], false);
  const look = positions.beginLook()!;
  assertEquals(look.upTo.map(({ id }) => id), ["50", "51", "0", "0"]);
  look.end([row(2, at(1), "8")]);
  assertEquals(positions.lookDueMs(), 0);
  assertEquals(positions.begin().from[1], { at: at(1), id: "7" });
});

Deno.test("a claim that came short has seen all that was left behind", () => {
  const positions = new ClaimPositions();
  positions.begin().end([row(2, at(5), "50")], false);
  positions.beginLook()!.end([row(2, at(1), "8")]);
  positions.begin().end([row(2, at(1), "8")], false);
  assertEquals(idsOf(positions)[1], "50");
});

Deno.test("a full claim goes on behind, where it ended, and has not reached the later priorities", () => {
  const positions = new ClaimPositions();
  positions.begin().end([row(1, at(5), "50"), row(2, at(5), "51"), row(3, at(5), "52")], false);
  positions.beginLook()!.end([row(1, at(1), "2"), row(2, at(1), "3"), row(3, at(1), "4")]);
  positions.begin().end([row(1, at(1), "2"), row(2, at(1), "3"), row(2, at(2), "9")], true);
  assertEquals(idsOf(positions), ["50", "9", "3", "0"]);
  positions.begin().end([row(2, at(6), "60")], true);
  assertEquals(idsOf(positions), ["50", "60", "3", "0"]);
});

Deno.test("a claim that failed leaves what was left behind for the next", () => {
  const positions = new ClaimPositions();
  positions.begin().end([row(2, at(5), "50")], false);
  positions.beginLook()!.end([row(2, at(1), "8")]);
  positions.begin();
  assertEquals(idsOf(positions)[1], "7");
});

Deno.test("what a look finds while a claim is under way is for the claim after it", () => {
  const positions = new ClaimPositions();
  positions.begin().end([row(2, at(5), "50")], true);
  const scan = positions.begin();
  positions.beginLook()!.end([row(2, at(1), "8")]);
  scan.end([row(2, at(6), "60")], false);
  assertEquals(idsOf(positions)[1], "7");
});

Deno.test("one look at a time, at least 100 ms and 8 times what the last one took apart", () => {
  const time = clock();
  const positions = new ClaimPositions(time.read);
  const look = positions.beginLook()!;
  time.now += 30;
  assertEquals(positions.beginLook(), null);
  look.end([]);
  time.now += 239;
  assertEquals(positions.beginLook(), null);
  time.now += 1;
  positions.beginLook()!.end([]);
  time.now += 99;
  assertEquals(positions.beginLook(), null);
});

Deno.test("after a claim a look is owed, and after a look that began since then none is", () => {
  const time = clock();
  const positions = new ClaimPositions(time.read);
  assertEquals(positions.lookDueMs(), null);
  positions.begin().end([], false);
  assertEquals(positions.lookDueMs(), 0);
  positions.beginLook()!.end([]);
  assertEquals(positions.lookDueMs(), null);
  time.now += 40;
  positions.begin().end([], false);
  assertEquals(positions.lookDueMs(), 60);
  time.now += 60;
  const look = positions.beginLook()!;
  assertEquals(positions.lookDueMs(), 100, "what it finds is to be claimed");
  positions.begin().end([row(2, at(1), "1")], false);
  assertEquals(positions.lookDueMs(), 100, "until it has ended there is nothing more to find");
  look.end([]);
  assertEquals(positions.lookDueMs(), 100);
});
