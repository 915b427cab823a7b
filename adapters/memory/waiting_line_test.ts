import { assertEquals } from "@std/assert";
import { type JobRow, newRow } from "./job_row.ts";
import { WaitingLine } from "./waiting_line.ts";

function row(seq: number, priority: number, scheduledAtMs: number): JobRow {
  const job = {
    kind: "k",
    queue: "q",
    args: "null",
    priority,
    maxAttempts: 1,
    runAt: null,
    unique: false,
  };
  return newRow(job, { seq, key: null, periodic: null, nowMs: 0, dueMs: scheduledAtMs });
}

Deno.test("WaitingLine gives the first priority first, the oldest first, and what is not due not at all", () => {
  const line = new WaitingLine();
  for (const [seq, priority, at] of [[1, 2, 50], [2, 1, 90], [3, 2, 40], [4, 1, 200], [5, 2, 50]] as const) {
    line.add(row(seq, priority, at));
  }
  assertEquals(line.due(100, 10, () => true).map((job) => job.seq), [2, 3, 1, 5]);
  assertEquals(line.due(100, 2, () => true).map((job) => job.seq), [2, 3]);
  assertEquals(line.due(100, 2, (job) => job.seq !== 2).map((job) => job.seq), [3, 1]);
  assertEquals(line.nextDueMs(100), 200);
  assertEquals(line.nextDueMs(200), null);
  assertEquals(line.oldest(100, () => true), [{ priority: 1, sinceMs: 90 }, { priority: 2, sinceMs: 40 }]);
});

Deno.test("WaitingLine forgets what was removed, and only that", () => {
  const line = new WaitingLine();
  const rows = [row(1, 2, 50), row(2, 2, 50), row(3, 2, 50)];
  for (const each of rows) line.add(each);
  line.remove(rows[1]!);
  line.remove(rows[1]!);
  assertEquals(line.due(100, 10, () => true).map((job) => job.seq), [1, 3]);
});
