import { assertEquals, assertLess } from "@std/assert";
import type { JobId } from "../ports/job.ts";
import type { Requests } from "../ports/store.ts";
import { silentLog } from "../shared/log.ts";
import { Hints } from "./_hints.ts";

const NOTHING: Requests = { cancelRequested: [], pausedQueues: [] };

function hints(ask: () => Promise<Requests> = () => Promise.resolve(NOTHING)) {
  const calls = { asked: 0, acted: [] as Requests[], woken: 0 };
  const made = new Hints({
    ask: () => {
      calls.asked++;
      return ask();
    },
    act: (requests) => void calls.acted.push(requests),
    held: () => new Set<JobId>(["1", "2"]),
    works: (queue) => queue === "q",
    declares: (kind) => kind === "k",
    wake: () => void calls.woken++,
    wakeAside: () => void calls.woken++,
    log: silentLog,
  });
  return { made, calls };
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

Deno.test("Hints ask the store once for many, and act on what it says", async () => {
  const requests = { cancelRequested: ["2"], pausedQueues: [] };
  const { made, calls } = hints(() => Promise.resolve(requests));
  for (const id of ["1", "2", "3"]) made.take({ type: "cancel", id });
  await pause(20);
  assertEquals([calls.asked, calls.acted], [1, [requests]]);
  made.stop();
});

Deno.test("Hints ask nothing about jobs that are not here and queues that are not worked", async () => {
  const { made, calls } = hints();
  for (let id = 1000; id < 6000; id++) made.take({ type: "cancel", id: String(id) });
  made.take({ type: "pause", queue: "other" });
  made.take({ type: "ready", queue: "other" });
  made.take({ type: "aside", queue: "q", kind: "other" });
  await pause(20);
  assertEquals([calls.asked, calls.woken], [0, 0]);
  made.stop();
});

Deno.test("Hints ask at most every 50 ms and wake a queue at most every 2 ms in a flood", async () => {
  const { made, calls } = hints();
  const began = performance.now();
  while (performance.now() - began < 300) {
    for (let times = 0; times < 100; times++) {
      made.take({ type: "cancel", id: "1" });
      made.take({ type: "pause", queue: "q" });
      made.take({ type: "ready", queue: "q" });
    }
    await pause(1);
  }
  const ms = performance.now() - began;
  assertLess(calls.asked, ms / 50 + 2);
  assertLess(calls.woken, ms / 2 + 2);
  made.stop();
});

Deno.test("Hints ask again when a queue was paused here while the answer was under way", async () => {
  const answers = [Promise.withResolvers<Requests>(), Promise.withResolvers<Requests>()];
  let next = 0;
  const { made, calls } = hints(() => answers[next++]!.promise);
  made.take({ type: "resume", queue: "q" });
  await pause(10);
  made.changed();
  answers[0]!.resolve(NOTHING);
  const later = { cancelRequested: [], pausedQueues: ["q"] };
  answers[1]!.resolve(later);
  await pause(100);
  assertEquals([calls.asked, calls.acted], [2, [later]]);
  made.stop();
});
