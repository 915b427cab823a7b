import { assertEquals, assertRejects } from "@std/assert";
import type { LogLevel } from "../ports/log.ts";
import { TaskRecord } from "./_upkeep_task.ts";

const MINUTE = 60_000;

function setUp() {
  const told: [LogLevel, string, unknown][] = [];
  const say = (level: LogLevel) => (event: string, fields?: Record<string, unknown>) =>
    void told.push([level, event, fields?.failures]);
  const clock = { ms: 0 };
  let turns = 0;
  const task = new TaskRecord({
    name: "sweep",
    everyMs: 1000,
    scope: "process",
    failing: "not swept",
    onTurn: () => turns++,
    log: { debug: () => {}, info: say("info"), warn: say("warn"), error: say("error") },
    now: () => clock.ms,
  });
  return { told, clock, task, turns: () => turns };
}

Deno.test("a task that fails for ever is told of at growing pauses, as an error after 5 minutes, and once when it works again", () => {
  const { told, clock, task, turns } = setUp();
  for (clock.ms = 0; clock.ms < 10 * MINUTE; clock.ms += 1000) task.failed(new Error("refused"));
  task.succeeded();
  assertEquals(told, [
    ["warn", "not swept", 1],
    ["warn", "not swept", 61],
    ["warn", "not swept", 181],
    ["error", "not swept", 421],
    ["info", "upkeep works again", 600],
  ]);
  assertEquals(turns(), 2);
});

Deno.test("a report tells of what has happened since the last one, and nothing is lost while one is under way", () => {
  const { clock, task } = setUp();
  const report = () => task.report("owner", "host:1");
  assertEquals(report(), null);
  task.succeeded();
  clock.ms = 10;
  task.failed(new Error("first"));
  clock.ms = 20;
  const first = report()!;
  assertEquals([first.successAgoMs, first.failed], [20, {
    count: 1,
    firstAgoMs: 10,
    lastAgoMs: 10,
    error: "first",
  }]);
  clock.ms = 30;
  task.failed(new Error("second"));
  task.reported(first, 20);
  const second = report()!;
  assertEquals([second.successAgoMs, second.failed?.count, second.failed?.error], [null, 1, "second"]);
  clock.ms = 40;
  task.succeeded();
  task.reported(second, 30);
  assertEquals([report()!.successAgoMs, report()!.failed], [0, null]);
  task.reported(report()!, 40);
  assertEquals(report(), null);
});

Deno.test("a process renews the word on a task of its own that fails, though it was not tried again", () => {
  const { task } = setUp();
  task.failed(new Error("refused"));
  task.reported(task.report("owner", "host:1")!, 0);
  assertEquals(task.report("owner", "host:1")!.failed, null);
});

Deno.test("run() hands on what the work gives and throws", async () => {
  const { task } = setUp();
  assertEquals(await task.run(() => Promise.resolve(7)), 7);
  await assertRejects(() => task.run(() => Promise.reject(new Error("refused"))), Error, "refused");
  assertEquals(task.report("owner", "host:1")!.failed!.count, 1);
});
