import { assertEquals } from "@std/assert";
import { eventually } from "../conformance/eventually.ts";
import { ClockLocks } from "./clock_locks.ts";
import { hourAhead } from "./hour_ahead.ts";

const { env, isWhole } = hourAhead();

function program(code: string, more: Readonly<Record<string, string>> = {}): Deno.ChildProcess {
  const args = ["eval", code];
  return new Deno.Command(Deno.execPath(), { args, env: { ...env, ...more }, stdout: "piped" }).spawn();
}

Deno.test({
  name: "a program whose clock is ahead starts though one was killed that had the clock's lock",
  ignore: !isWhole,
  async fn() {
    const parent = program("setInterval(() => {}, 1000)");
    const lock = `faketime_sem_${parent.pid}`;
    await eventually(
      () => Array.from(Deno.readDirSync("/dev/shm")).some(({ name }) => name === `sem.${lock}`),
      20_000,
    );
    const libc = Deno.dlopen("libc.so.6", {
      sem_open: { parameters: ["buffer", "i32"], result: "pointer" },
      sem_wait: { parameters: ["pointer"], result: "i32" },
    });
    // Taken, and never given back.
    libc.symbols.sem_wait(libc.symbols.sem_open(new TextEncoder().encode(`/${lock}\0`), 0));
    const shared = { FAKETIME_SHARED: `/${lock} /faketime_shm_${parent.pid}` };
    using locks = new ClockLocks();
    const { stdout } = await program("console.log(Date.now())", shared).output();
    const aheadMs = Number(new TextDecoder().decode(stdout)) - Date.now();
    assertEquals([Math.round(aheadMs / 100_000), locks.opened], [36, 1]);
    parent.kill("SIGKILL");
    await parent.status;
    await parent.stdout.cancel();
    libc.close();
  },
});
