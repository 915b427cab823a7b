import { assertEquals } from "@std/assert";
import type { UpkeepReport } from "../../ports/upkeep.ts";
import { UpkeepTable } from "./upkeep_table.ts";

const DAY_MS = 24 * 60 * 60_000;

function report(task: string, owner: string | null): UpkeepReport {
  return { task, owner, process: "host:1", successAgoMs: 0, failed: null };
}

Deno.test("a silent process is left out after minutes, a task of the whole fleet after 30 days", () => {
  const table = new UpkeepTable();
  const tasksAt = (nowMs: number) => table.read(nowMs).rows.map(({ task }) => task);
  table.report([report("fleet", null), report("own", "one")], 0);
  assertEquals(tasksAt(60_000), ["fleet", "own"]);
  assertEquals(tasksAt(DAY_MS), ["fleet"]);
  assertEquals(tasksAt(30 * DAY_MS), ["fleet"]);
  assertEquals(tasksAt(31 * DAY_MS), []);
});
