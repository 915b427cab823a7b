import { assert, assertEquals } from "../../support/assert.ts";
import type { UpkeepReport, UpkeepRow } from "../../../ports/upkeep.ts";
import type { Case } from "../case.ts";
import { eventually } from "../eventually.ts";

const TASK = { task: "sweep", owner: null, process: "one:1" };

function failed(count: number, error: string, firstAgoMs = 0): UpkeepReport["failed"] {
  return { count, error, firstAgoMs, lastAgoMs: 0 };
}

function isNear(actual: number | null, expected: number): boolean {
  return actual !== null && Math.abs(actual - expected) < 5000;
}

/** The status of upkeep tasks. */
export const upkeepCases: readonly Case[] = [
  {
    name: "failures of a task add up over all processes until one of them succeeds",
    async run(stage) {
      const [store, other] = [await stage.store(), await stage.store()];
      const only = async (): Promise<UpkeepRow> =>
        (await store.upkeep()).rows.find(({ task }) => task === "sweep")!;
      await store.reportUpkeep([{ ...TASK, successAgoMs: 90_000, failed: failed(2, "no room", 60_000) }]);
      const { nowMs } = await store.upkeep();
      const first = await only();
      assert(isNear(first.lastSuccessMs, nowMs - 90_000));
      assert(isNear(first.failingSinceMs, nowMs - 60_000));
      assert(isNear(first.lastErrorMs, nowMs));
      assertEquals([first.lastError, first.lastErrorIn, first.failuresInARow], ["no room", "one:1", 2]);
      await other.reportUpkeep([{
        ...TASK,
        process: "two:2",
        successAgoMs: null,
        failed: failed(3, "still none"),
      }]);
      const second = await only();
      assertEquals([second.lastError, second.lastErrorIn, second.failuresInARow], ["still none", "two:2", 5]);
      assertEquals(second.failingSinceMs, first.failingSinceMs);
      assertEquals(second.lastSuccessMs, first.lastSuccessMs);
      await other.reportUpkeep([{ ...TASK, successAgoMs: 0, failed: null }]);
      const third = await only();
      assertEquals([third.failuresInARow, third.failingSinceMs, third.lastError], [0, null, "still none"]);
      assert(isNear(third.lastSuccessMs, nowMs));
    },
  },
  {
    name: "a task that every process does for itself is each one's own: the success of one is no other's",
    async run(stage) {
      const store = await stage.store();
      const [one, other] = [crypto.randomUUID(), crypto.randomUUID()];
      await store.reportUpkeep([
        { ...TASK, owner: one, successAgoMs: null, failed: failed(1, "no way") },
        { ...TASK, owner: other, successAgoMs: 0, failed: null },
      ]);
      const { rows } = await store.upkeep();
      const of = (owner: string) => rows.find((row) => row.owner === owner)!;
      assertEquals([of(one).failuresInARow, of(other).failuresInARow], [1, 0]);
    },
  },
  {
    name: "the overview shows every upkeep task of a runtime that works",
    async run(stage) {
      const runtime = await stage.start({ kinds: [stage.kind("k")], settings: { purgeMs: 50 } });
      await eventually(async () => {
        const { upkeep } = await runtime.overview();
        const of = (name: string) => upkeep.find(({ task }) => task === name);
        return of("purge jobs")!.lastSuccessAt !== null && of("take ticks")!.lastSuccessAt !== null &&
          upkeep.every(({ failuresInARow, overdue }) => failuresInARow === 0 && !overdue);
      });
    },
  },
];
