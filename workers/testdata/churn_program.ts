import { fixture } from "./executor_fixture.ts";

// Runs many short jobs, then jobs that each end their thread, and prints the resident memory in MiB at intervals.
const [shortJobs, endingJobs, samples] = Deno.args.map(Number) as [number, number, number];
const f = fixture({ threads: 2 });
const rss: number[] = [];

async function inBatches(count: number, size: number, action: string): Promise<void> {
  for (let done = 0; done < count; done += size) {
    await Promise.all(Array.from({ length: size }, () => f.run({ args: { do: action } }).ended));
  }
}

await inBatches(shortJobs, 100, "echo");
rss.push(residentMebibytes());
for (let sample = 0; sample < samples; sample++) {
  await inBatches(endingJobs / samples, 2, sample % 2 === 0 ? "exit" : "close");
  rss.push(residentMebibytes());
}
await f.executor.stop();
Deno.stdout.writeSync(new TextEncoder().encode(JSON.stringify(rss) + "\n"));

function residentMebibytes(): number {
  return Math.round(Deno.memoryUsage().rss / 1024 / 1024);
}
