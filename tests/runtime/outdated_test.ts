import { assertEquals } from "@std/assert";
import { cronerSchedule } from "../../adapters/croner/schedule.ts";
import { createMemoryStore } from "../../adapters/memory/memory_store.ts";
import { ProtocolTooOldError } from "../../ports/errors.ts";
import { buildRuntime } from "../../runtime/runtime.ts";
import { createLog, silentLog } from "../../shared/log.ts";
import { createExecutor } from "../../workers/executor.ts";
import { eventually } from "../conformance/eventually.ts";
import { changed } from "./testdata/changed.ts";

Deno.test("a process that was taken for dead and is too old by now says so once, and stays off the record", async () => {
  const store = createMemoryStore();
  const entered: string[] = [];
  let beats = 0;
  const newer = changed(store, {
    register: async (entry) => {
      entered.push(entry.id);
      if (entered.length > 1) throw new ProtocolTooOldError(2, 3);
      await store.register(entry);
    },
    beat: async (owner) => {
      beats++;
      return { ...await store.beat(owner), ...(beats > 2 ? { alive: false } : {}) };
    },
  });
  const lines: { readonly level: string; readonly event: string }[] = [];
  await using runtime = buildRuntime({
    store: newer,
    executor: createExecutor({ completion: store.completion, log: silentLog }),
    schedule: cronerSchedule,
    registrars: [],
    settings: { pollMs: 50, heartbeatMs: 20, lostAfterMs: 300, stopGraceMs: 500 },
    log: createLog({ write: (line) => lines.push(JSON.parse(line)) }),
  });
  await runtime.start();
  await eventually(() => beats >= 6);
  assertEquals(entered.length, 2);
  assertEquals(lines.filter(({ event }) => event.startsWith("this process was taken for dead")).length, 1);
  const [said, ...more] = lines.filter(({ event }) => event.startsWith("this program is too old"));
  assertEquals([said?.level, more.length], ["error", 0]);
});
