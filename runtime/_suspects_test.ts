import { assert, assertEquals } from "@std/assert";
import type { Claimed } from "../ports/store.ts";
import { type Suspect, Suspects } from "./_suspects.ts";

interface Queue {
  readonly begun: Suspect[];
  slots: number;
}

function queue(): Queue & { mayBeginSuspect(): boolean; beginSuspect(suspect: Suspect): void } {
  const own: Queue = { begun: [], slots: Infinity };
  return Object.assign(own, {
    mayBeginSuspect: () => own.begun.length < own.slots,
    beginSuspect: (suspect: Suspect) => void own.begun.push(suspect),
  });
}

function suspect(id: string, isFunction = false): Suspect {
  const job: Claimed = { id, run: 2, kind: "k", attempt: 2, maxAttempts: 3, args: "null", alone: true };
  return { job, isFunction };
}

const idsOf = ({ begun }: Queue): string[] => begun.map(({ job }) => job.id);

Deno.test("Suspects begin in order: one module, after a while four at once, a tenth of their queue at most", () => {
  let nowMs = 0;
  const suspects = new Suspects(() => nowMs);
  const [wide, narrow] = [queue(), queue()];
  const [wideLine, narrowLine] = [suspects.line(wide, 1000), suspects.line(narrow, 5)];
  for (const id of ["1", "2", "3", "4", "5"]) wideLine.add(suspect(id));
  for (const id of ["11", "12"]) narrowLine.add(suspect(id));
  suspects.look();
  assertEquals([idsOf(wide), idsOf(narrow)], [["1"], []]);
  nowMs = 1000;
  suspects.look();
  assertEquals([idsOf(wide), idsOf(narrow)], [["1"], ["11"]]);
  nowMs = 3000;
  suspects.look();
  assertEquals([idsOf(wide), idsOf(narrow)], [["1", "2", "3"], ["11"]]);
  assertEquals([wideLine.isDue, narrowLine.isDue], [false, false]);
  narrowLine.ended(narrow.begun[0]!, 5);
  // The queues take turns.
  assertEquals([idsOf(wide), idsOf(narrow)], [["1", "2", "3"], ["11", "12"]]);
  wideLine.ended(wide.begun[0]!, 5);
  assertEquals([idsOf(wide), idsOf(narrow)], [["1", "2", "3", "4"], ["11", "12"]]);
});

Deno.test("Suspects: a function begins with no other suspect beside it, and nobody overtakes it", () => {
  const suspects = new Suspects();
  const [first, second] = [queue(), queue()];
  const [firstLine, secondLine] = [suspects.line(first, 100), suspects.line(second, 100)];
  secondLine.add(suspect("21"));
  suspects.look();
  firstLine.add(suspect("11", true));
  suspects.look();
  secondLine.add(suspect("22"));
  suspects.look();
  assertEquals([idsOf(first), idsOf(second)], [[], ["21"]]);
  secondLine.ended(second.begun[0]!, 5);
  assertEquals([idsOf(first), idsOf(second)], [["11"], ["21"]]);
  firstLine.ended(first.begun[0]!, null);
  assertEquals(idsOf(second), ["21", "22"]);
});

Deno.test("Suspects: a queue without a free slot keeps no other from its turn", () => {
  const suspects = new Suspects();
  const [full, other] = [queue(), queue()];
  full.slots = 0;
  const [fullLine, otherLine] = [suspects.line(full, 100), suspects.line(other, 100)];
  fullLine.add(suspect("1", true));
  otherLine.add(suspect("2"));
  suspects.look();
  assertEquals([idsOf(full), idsOf(other), fullLine.isDue], [[], ["2"], false]);
});

Deno.test("Suspects: a line is as long as what begins within a second; who finds it full comes back when there is room", () => {
  const suspects = new Suspects();
  const own = queue();
  const line = suspects.line(own, 1000);
  let admitted = 0;
  while (line.add(suspect(String(admitted)))) admitted++;
  assert(admitted >= 16 && admitted <= 200, `${admitted}`);
  suspects.look();
  // Each took a minute: no more are taken than are at least.
  for (let i = 0; i < 100 && line.waiting > 0; i++) line.ended(own.begun[i]!, 60_000);
  admitted = 0;
  while (line.add(suspect(String(admitted)))) admitted++;
  assertEquals([line.waiting, line.pauseMs], [16, 10_000]);
  assertEquals(line.take("3").map(({ id }) => id), ["3"]);
  assertEquals([line.take().length, line.waiting], [15, 0]);
});
