import { assert, assertEquals } from "@std/assert";
import { Ticker } from "./_ticker.ts";

Deno.test("Ticker: a run that failed comes again soon, and at once when its cause may be over", async () => {
  const runs: number[] = [];
  let fails = 2;
  let again = Promise.withResolvers<void>();
  const ticker = new Ticker({
    everyMs: 60_000,
    retryMs: 20,
    run: () => {
      runs.push(performance.now());
      if (fails-- > 0) return Promise.reject(new Error("not yet"));
      again.resolve();
      return Promise.resolve();
    },
    onError: () => {},
  });
  ticker.start();
  await again.promise;
  assertEquals(runs.length, 3);
  assert(runs[1]! - runs[0]! >= 15);
  // It works: there is nothing to be made again.
  await new Promise((resolve) => setTimeout(resolve));
  ticker.retry();
  await new Promise((resolve) => setTimeout(resolve, 50));
  assertEquals(runs.length, 3);
  await ticker.stop();

  again = Promise.withResolvers();
  fails = 1;
  const failed = Promise.withResolvers<void>();
  const slow = new Ticker({
    everyMs: 60_000,
    run: () => {
      if (fails-- > 0) return Promise.reject(new Error("not yet"));
      again.resolve();
      return Promise.resolve();
    },
    onError: () => failed.resolve(),
  });
  slow.start();
  await failed.promise;
  slow.retry();
  await again.promise;
  await slow.stop();
});

Deno.test("Ticker: one that rests after failures is woken by nobody, its pauses double, and retry() and stop() end them", async () => {
  const runs: number[] = [];
  const fourth = Promise.withResolvers<void>();
  const ticker = new Ticker({
    everyMs: 1,
    restMs: { first: 20, longest: 40 },
    run: () => {
      runs.push(performance.now());
      ticker.wake();
      if (runs.length === 4) fourth.resolve();
      return Promise.reject(new Error("refused"));
    },
    onError: () => {},
  });
  ticker.start();
  const waking = setInterval(() => ticker.wake(), 1);
  await fourth.promise;
  const pauses = runs.slice(1).map((at, index) => at - runs[index]!);
  [20, 40, 40].forEach((leastMs, index) => assert(pauses[index]! >= leastMs - 1, String(pauses)));
  clearInterval(waking);
  await ticker.stop();

  let fails = true;
  const again = Promise.withResolvers<void>();
  const failed = Promise.withResolvers<void>();
  const patient = new Ticker({
    everyMs: 1,
    restMs: { first: 60_000, longest: 60_000 },
    run: () => {
      if (fails) return Promise.reject(new Error("refused"));
      again.resolve();
      return Promise.resolve();
    },
    onError: () => failed.resolve(),
  });
  patient.start();
  await failed.promise;
  fails = false;
  patient.retry();
  await again.promise;
  fails = true;
  await patient.stop();
});
