import { fixture, type Given } from "./executor_fixture.ts";
import type { Kind } from "../../ports/kind.ts";

// Runs the scenario that its argument names, prints what came of it as JSON, and ends.
const scenario = Deno.args[0]!;
const f = fixture({ threads: 2, graceMs: 200 });
const outcomes: Record<string, unknown> = {};
const waits: Promise<void>[] = [];

function run(id: string, given: Partial<Omit<Kind, "args">> & Given): void {
  const begin = performance.now();
  waits.push(
    f.run({ id, ...given }).ended.then((outcome) => {
      outcomes[id] = { ...outcome, ms: performance.now() - begin };
    }),
  );
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

await f.run({}).ended;
switch (scenario) {
  case "block all":
    // Their limit leaves the others time to end before the first of these threads is replaced.
    for (let i = 0; i < 3; i++) run(`bad ${i}`, { queue: "bad", timeout: 4000, args: { do: "spin" } });
    await sleep(150);
    for (let i = 0; i < 5; i++) run(`good ${i}`, { queue: `good ${i % 2}`, args: { do: "sleep", ms: 50 } });
    break;
  case "kept busy": {
    // With one thread's worth of room left, the waiting job and the computing one share a thread.
    run("kept", { queue: "a", timeout: 400, args: { do: "sleep", ms: 100 } });
    run("also kept", { queue: "a", timeout: 400, args: { do: "sleep", ms: 100 } });
    await sleep(20);
    for (let i = 0; i < 2; i++) {
      run(`keeps ${i}`, { queue: "b", timeout: 9000, args: { do: "compute", ms: 5000 } });
    }
    break;
  }
  case "after an await": {
    // The first two take a thread each; with every other one there are two begun in a thread.
    for (let i = 0; i < 2; i++) run(`innocent ${i}`, { timeout: 500, args: { do: "sleep", ms: 300 } });
    for (let i = 0; i < 2; i++) {
      run(`guilty ${i}`, { name: "bad.kind", timeout: 3000, args: { do: "spinWhenTold", ms: 50 } });
    }
    break;
  }
  case "stop":
    run("bad", { timeout: 60_000, args: { do: "spin" } });
    await sleep(200);
    break;
  default:
    run("neighbour", { queue: "a", args: { do: "sleep", ms: 1000 } });
    run("elsewhere", { queue: "b", ownThread: true, args: { do: "sleep", ms: 1000 } });
    run("bad", { name: "bad.kind", queue: "bad", timeout: 300, args: { do: scenario } });
    await sleep(100);
    run("during", { queue: "c", args: {} });
    await sleep(700);
    run("after", { queue: "bad", args: {} });
}
if (scenario !== "stop") await Promise.all(waits);
const begin = performance.now();
await f.executor.stop();
const stopMs = performance.now() - begin;
await Promise.all(waits);
Deno.stdout.writeSync(new TextEncoder().encode(JSON.stringify({ outcomes, lost: f.lost, stopMs })));
Deno.kill(Deno.pid, "SIGKILL");
