import { assertEquals } from "@std/assert";
import type { Claimed } from "../ports/store.ts";
import { silentLog } from "../shared/log.ts";
import { GivenBack } from "./_given_back.ts";

Deno.test("GivenBack tells of a job that is given back 5 times in a row, and again at each doubling", () => {
  const told: unknown[] = [];
  const noticed = new GivenBack({
    ...silentLog,
    warn: (_event, fields) => void told.push([fields!.jobId, fields!.times]),
  });
  const job = (id: string): Claimed => ({
    id,
    run: 1,
    kind: "k",
    attempt: 1,
    maxAttempts: 3,
    args: "{}",
    alone: false,
  });
  const back = { id: "1", run: 1, to: "release", delayMs: 0, error: null, alone: false } as const;
  for (let times = 1; times <= 25; times++) noticed.note(job("1"), back, "aborted");
  assertEquals(told, [["1", 5], ["1", 10], ["1", 20]]);
  for (let times = 1; times <= 4; times++) noticed.note(job("2"), back, "aborted");
  noticed.note(job("2"), { ...back, to: "retry" }, "aborted");
  noticed.note(job("2"), back, "aborted");
  assertEquals(told.length, 3);
});
