import { fixture } from "./executor_fixture.ts";

// Prints the process id of a host process in which a handler spins, then dies without a word.
const f = fixture();
const outcome = await f.run({ isolation: "process", args: { do: "pid" } }).ended;
f.run({ isolation: "process", timeout: 60_000, args: { do: "spin" } });
await new Promise((resolve) => setTimeout(resolve, 300));
if (outcome.type === "completed") Deno.stdout.writeSync(new TextEncoder().encode(`${outcome.output}\n`));
Deno.kill(Deno.pid, "SIGKILL");
