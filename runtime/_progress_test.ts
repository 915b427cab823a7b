import { assert, assertEquals } from "@std/assert";
import type { ProgressEntry, Store } from "../ports/store.ts";
import { silentLog } from "../shared/log.ts";
import { Progress } from "./_progress.ts";

const entry = (done: number): ProgressEntry => ({ id: "1", run: 1, done, note: null });

Deno.test("what a run told is pending until it is written, while the write is under way too", async () => {
  const written: ProgressEntry[] = [];
  const write = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  const store = {
    progress: async (entries: readonly ProgressEntry[]) => {
      begun.resolve();
      await write.promise;
      written.push(...entries);
    },
  } as unknown as Store;
  const progress = new Progress(store, silentLog);
  progress.tell(entry(0.5));
  await begun.promise;
  assert(progress.isPending({ id: "1", run: 1 }));
  assert(!progress.isPending({ id: "1", run: 2 }));
  const flushed = progress.flush();
  write.resolve();
  await flushed;
  assertEquals(written, [entry(0.5)]);
  assert(!progress.isPending({ id: "1", run: 1 }));
});
