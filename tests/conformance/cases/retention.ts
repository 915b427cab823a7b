import { assertEquals } from "../../support/assert.ts";
import type { Case } from "../case.ts";
import { eventually } from "../eventually.ts";

/** What is kept, and for how long. */
export const retentionCases: readonly Case[] = [
  {
    name: "completed jobs are gone after their retention; discarded and cancelled ones after theirs",
    async run(stage) {
      const runtime = await stage.start({
        kinds: [stage.kind("k", { maxAttempts: 1 })],
        settings: { retentionCompletedMs: 200, retentionOthersMs: 60_000, purgeMs: 50 },
      });
      const completed = await runtime.enqueue("k", stage.act({ do: "return" }));
      const discarded = await runtime.enqueue("k", stage.act({ do: "fail" }));
      const waiting = await runtime.enqueue("k", {}, { runAt: new Date(Date.now() + 60_000) });
      await stage.until(runtime, discarded, "discarded");
      await eventually(async () => await runtime.get(completed) === null);
      assertEquals((await runtime.list()).map(({ id }) => id).sort(), [discarded, waiting].sort());
      await runtime.stop();
      const purging = await stage.start({
        kinds: [stage.kind("k")],
        settings: { retentionOthersMs: 0, purgeMs: 50 },
      });
      await eventually(async () => await purging.get(discarded) === null);
      assertEquals((await purging.list()).map(({ id }) => id), [waiting]);
    },
  },
  {
    name: "a purge deletes at most as many jobs as it was told, and none that has not ended",
    async run(stage) {
      const runtime = stage.build({ kinds: [stage.kind("k")] });
      const ids = await runtime.enqueueMany(Array.from({ length: 12 }, () => ({ kind: "k" })));
      for (const id of ids.slice(0, 10)) await runtime.cancel(id);
      const store = await stage.store();
      const purge = () => store.purge({ completedMs: 0, othersMs: 0, limit: 4 });
      const purged: number[] = [];
      await eventually(async () => {
        purged.push(await purge());
        return (await runtime.list()).length === 2;
      });
      assertEquals(purged.filter((count) => count > 0), [4, 4, 2]);
      assertEquals((await runtime.overview()).states.pending, 2);
    },
  },
];
