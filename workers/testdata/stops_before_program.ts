import { fixture } from "./executor_fixture.ts";

// Has a host process whose handler leaves a program behind, stops, prints that program's process id, and has nothing
// more to do.
const f = fixture();
const handler = new URL("./leaves_program.ts", import.meta.url);
const outcome = await f.run({ handler, isolation: "process" }).ended;
await f.executor.stop();
Deno.stdout.writeSync(
  new TextEncoder().encode(outcome.type === "completed" ? outcome.output! : outcome.type),
);
