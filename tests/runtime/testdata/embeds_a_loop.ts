import { createMemoryRuntime } from "../../../mod.ts";

// Embeds a runtime whose handler never returns, stops it, and prints what the log said.
const lines: string[] = [];
const keep = (message: string) => void lines.push(message);
const runtime = createMemoryRuntime({
  log: { debug: () => {}, info: () => {}, warn: keep, error: keep },
  executor: { threads: 1, graceMs: 100 },
  registrars: [{
    kinds: [{
      name: "loop",
      queue: "default",
      maxAttempts: 1,
      timeout: 200,
      handler: import.meta.resolve("./loops.ts"),
    }],
  }],
});
await runtime.start();
await runtime.wait(await runtime.enqueue("loop"), 30_000);
await runtime.stop();
const told = JSON.stringify({ lines, lostThreads: runtime.stats().lostThreads });
Deno.stdout.writeSync(new TextEncoder().encode(told));
Deno.exit();
