/** A worker program with webhooks. Its only argument is a `WorkerConfig` as JSON; its log is JSON lines. */
import { buildProcess, type Place, type ProcessOptions } from "../support/composition.ts";

/** What the program is told. */
export interface WorkerConfig extends Place {
  /** How it differs from other processes. */
  readonly options: ProcessOptions;
}

const encoder = new TextEncoder();
const write = (line: string) => void Deno.stdout.writeSync(encoder.encode(line + "\n"));
const { url, schema, options } = JSON.parse(Deno.args[0]!) as WorkerConfig;
const { runtime } = buildProcess({ url, schema }, options, write);
const ended = Promise.withResolvers<void>();
Deno.addSignalListener("SIGTERM", () => ended.resolve());
try {
  await runtime.start();
  await ended.promise;
  await runtime.stop(500);
  // Whatever still keeps the process is a fault.
} catch (error) {
  write(JSON.stringify({ event: "not started", error: String(error) }));
  await runtime.stop();
}
