import { assertLessOrEqual } from "@std/assert";
import { cronerSchedule } from "../../adapters/croner/schedule.ts";
import { createMemoryStore } from "../../adapters/memory/memory_store.ts";
import { buildRuntime } from "../../runtime/runtime.ts";
import { silentLog } from "../../shared/log.ts";
import { createExecutor } from "../../workers/executor.ts";
import { eventually } from "../conformance/eventually.ts";
import { changed } from "./testdata/changed.ts";

Deno.test("claims that fail are made again at growing pauses, however many jobs are enqueued, and go on when they can", async () => {
  const store = createMemoryStore();
  const claims: number[] = [];
  let fails = true;
  const failing = changed(store, {
    claim: (request) => {
      if (request.queue === "default") claims.push(performance.now());
      return fails ? Promise.reject(new Error("refused")) : store.claim(request);
    },
  });
  await using runtime = buildRuntime({
    store: failing,
    executor: createExecutor({ completion: store.completion, log: silentLog }),
    schedule: cronerSchedule,
    registrars: [{
      kinds: [{ name: "k", queue: "default", maxAttempts: 3, timeout: 5000, handler: () => {} }],
    }],
    settings: { pollMs: 10, heartbeatMs: 100, lostAfterMs: 300, stopGraceMs: 500 },
    log: silentLog,
  });
  await runtime.start();
  const ids: string[] = [];
  await eventually(async () => {
    ids.push(await runtime.enqueue("k"));
    return claims.at(-1)! - claims.at(-2)! > 390;
  });
  // After 100, 200 and 400 ms; the start itself may ask for some.
  assertLessOrEqual(claims.length, 8);
  fails = false;
  for (const id of ids) await runtime.wait(id, 5000);
});
