import { assertEquals } from "@std/assert";
import { RestartDelay, type WorkerEnd } from "./restart_delay.ts";

const failedStart: WorkerEnd = { started: false, ranMs: 800, signal: null };
const killedAtStart: WorkerEnd = { started: false, ranMs: 800, signal: "SIGKILL" };
const crashed: WorkerEnd = { started: true, ranMs: 3000, signal: "SIGSEGV" };
const delays = (ends: readonly WorkerEnd[]): number[] => {
  const delay = new RestartDelay();
  return ends.map((end) => delay.after(end));
};

Deno.test("starts that fail by themselves make the next worker wait longer, to a bound", () => {
  assertEquals(delays(Array(7).fill(failedStart)), [500, 1000, 2000, 4000, 8000, 10_000, 10_000]);
  assertEquals(delays([failedStart, { ...failedStart, signal: "SIGABRT" }, failedStart]), [500, 1000, 2000]);
});

Deno.test("kills from outside make nobody wait longer, and do not hide that starts fail", () => {
  assertEquals(delays(Array(5).fill(killedAtStart)), [500, 500, 500, 500, 500]);
  assertEquals(delays([failedStart, failedStart, killedAtStart, failedStart]), [500, 1000, 500, 2000]);
});

Deno.test("a worker that had started ends the row, and one that ran for long is followed at once", () => {
  assertEquals(delays([failedStart, failedStart, crashed, failedStart]), [500, 1000, 500, 500]);
  assertEquals(delays([{ started: true, ranMs: 10_000, signal: null }]), [0]);
});
