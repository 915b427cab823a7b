import { assertEquals } from "@std/assert";
import { cronerSchedule } from "../../adapters/croner/schedule.ts";
import { createMemoryStore } from "../../adapters/memory/memory_store.ts";
import type { Handler } from "../../ports/handler.ts";
import type { Store } from "../../ports/store.ts";
import { buildRuntime, type WorkingRuntime } from "../../runtime/runtime.ts";
import { createLog, silentLog } from "../../shared/log.ts";
import { createExecutor } from "../../workers/executor.ts";
import { eventually } from "../conformance/eventually.ts";
import { changed } from "./testdata/changed.ts";

function runtimeOn(store: Store, handler: Handler, log = silentLog): WorkingRuntime {
  return buildRuntime({
    store,
    executor: createExecutor({ completion: store.completion, log: silentLog }),
    schedule: cronerSchedule,
    registrars: [{ kinds: [{ name: "k", queue: "default", maxAttempts: 3, timeout: 5000, handler }] }],
    settings: { pollMs: 50, heartbeatMs: 100, lostAfterMs: 300, stopGraceMs: 500 },
    log,
  });
}

Deno.test("a claim whose answer comes after this process may count as dead starts nothing", async () => {
  const store = createMemoryStore();
  let cut = false;
  let started = 0;
  const answer = Promise.withResolvers<void>();
  const slow = changed(store, {
    beat: (owner) => cut ? Promise.reject(new Error("cut off")) : store.beat(owner),
    claim: async (request) => {
      const claimed = await store.claim(request);
      if (claimed.length > 0 && started === 0 && !cut) {
        cut = true;
        await answer.promise;
      }
      return claimed;
    },
  });
  const lines: string[] = [];
  await using runtime = runtimeOn(
    slow,
    () => void started++,
    createLog({ write: (line) => lines.push(line) }),
  );
  await runtime.start();
  const id = await runtime.enqueue("k");
  await eventually(() => lines.some((line) => line.includes("no heartbeat for too long")));
  answer.resolve();
  await eventually(async () => (await runtime.get(id))?.state === "pending");
  assertEquals(started, 0);
  cut = false;
  assertEquals((await runtime.wait(id, 5000)).done, true);
  assertEquals([started, (await runtime.get(id))?.attempt], [1, 1]);
});

Deno.test("a log that can't be written loses no end of a run", async () => {
  const broken = () => {
    throw new Deno.errors.BrokenPipe("nobody reads");
  };
  const log = { debug: broken, info: broken, warn: broken, error: broken };
  let runs = 0;
  await using runtime = runtimeOn(createMemoryStore(), () => {
    if (++runs === 1) throw new Error("the first time");
  }, log);
  await runtime.start();
  const id = await runtime.enqueue("k");
  assertEquals((await runtime.wait(id, 5000)).done, true);
  assertEquals((await runtime.get(id))?.attempt, 2);
});

Deno.test("a rescue or a look at what lies aside that takes its time holds up no heartbeat", async () => {
  const store = createMemoryStore();
  let beats = 0;
  const slow = changed(store, {
    beat: (owner) => (beats++, store.beat(owner)),
    findAside: () => new Promise((resolve) => setTimeout(() => resolve([]), 1500)),
  });
  await using runtime = runtimeOn(slow, () => {});
  await runtime.start();
  const before = beats;
  await eventually(() => beats >= before + 5, 1400);
});

Deno.test("a start that failed can be tried again once its cause is gone", async () => {
  const store = createMemoryStore();
  let isReachable = false;
  const down = changed(store, {
    open: () => isReachable ? store.open() : Promise.reject(new Error("not yet")),
  });
  await using runtime = runtimeOn(down, () => {});
  assertEquals(await runtime.start().then(() => "started", (error) => error.message), "not yet");
  isReachable = true;
  await runtime.start();
  assertEquals((await runtime.wait(await runtime.enqueue("k"), 5000)).done, true);
});
