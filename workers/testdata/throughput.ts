import { fixture } from "./executor_fixture.ts";

/** Prints how many attempts a second a pool of threads runs, for handlers that do nothing and for 5 ms of computing. */
async function measure(
  threads: number,
  module: string,
  args: unknown,
  count: number,
  atOnce: number,
): Promise<number> {
  await using f = fixture({ threads, jobsPerThread: 500 });
  const handler = new URL(module, import.meta.url);
  await Promise.all(Array.from({ length: threads * 2 }, () => f.run({ handler, args }).ended));
  const argsText = JSON.stringify(args);
  const kind = { name: "noop", queue: "default", maxAttempts: 5, timeout: 10_000, handler };
  const begin = performance.now();
  let given = 0;
  let ended = 0;
  const { promise, resolve } = Promise.withResolvers<void>();
  const give = (): void => {
    if (given === count) return;
    const id = String(++given);
    f.executor.run({
      id,
      run: 1,
      queue: "default",
      attempt: 1,
      maxAttempts: 5,
      args: argsText,
      alone: false,
      kind,
    }, {
      progress: () => {},
      ended: () => {
        if (++ended === count) resolve();
        else give();
      },
    });
  };
  for (let i = 0; i < atOnce; i++) give();
  await promise;
  return count / (performance.now() - begin) * 1000;
}

if (import.meta.main) {
  const lines = [
    `no-op, 2 threads: ${Math.round(await measure(2, "./noop.ts", { a: 1 }, 300_000, 500))}/s`,
    `5 ms, 1 thread: ${Math.round(await measure(1, "./handlers.ts", { do: "compute", ms: 5 }, 400, 8))}/s`,
    `5 ms, 2 threads: ${Math.round(await measure(2, "./handlers.ts", { do: "compute", ms: 5 }, 400, 8))}/s`,
  ];
  Deno.stdout.writeSync(new TextEncoder().encode(lines.join("\n") + "\n"));
}
