import { assertEquals } from "@std/assert";
import { silentLog } from "../shared/log.ts";
import type { Claimed } from "../ports/store.ts";
import { HeldJobs } from "./_held_jobs.ts";

function job(id: string): Claimed {
  return { id, run: 1, kind: "k", attempt: 1, maxAttempts: 1, args: "{}", alone: false };
}

/** Jobs "1" to "4", a record that ends when the test says so, and what was given back. */
function held() {
  const record = Promise.withResolvers<void>();
  const givenBack: string[] = [];
  const state = { goesOn: true };
  const jobs = new HeldJobs({
    record: () => record.promise,
    goesOn: () => state.goesOn,
    giveBack: (given) => givenBack.push(...given.map(({ id }) => id)),
    onRecorded: () => {},
    log: silentLog,
  });
  for (const id of ["1", "2", "3", "4"]) jobs.add(job(id));
  return { jobs, record, givenBack, state };
}

Deno.test("HeldJobs: a job is ready once its start is on record, the oldest first", async () => {
  const { jobs, record, givenBack } = held();
  const recorded = jobs.record(2);
  await jobs.record(2);
  assertEquals([jobs.size, jobs.idle, jobs.ready], [4, 2, 0]);
  record.resolve();
  await recorded;
  assertEquals([jobs.size, jobs.idle, jobs.ready], [4, 4, 2]);
  assertEquals([jobs.next().id, jobs.next().id], ["1", "2"]);
  assertEquals([...jobs.ids()], ["3", "4"]);
  assertEquals(givenBack, []);
});

Deno.test("HeldJobs: a cancelled one is given back at once, or once its start is on record", async () => {
  const { jobs, record, givenBack } = held();
  const recorded = jobs.record(2);
  jobs.cancel("1");
  jobs.cancel("3");
  jobs.cancel("unknown");
  assertEquals(givenBack, ["3"]);
  record.resolve();
  await recorded;
  assertEquals(givenBack, ["3", "1"]);
  assertEquals([jobs.ready, jobs.next().id], [1, "2"]);
});

Deno.test("HeldJobs: starts that are not recorded, or too late, are given back", async () => {
  const refused = held();
  const failed = refused.jobs.record(2);
  refused.record.reject(new Error("away"));
  await failed;
  assertEquals([refused.givenBack, refused.jobs.size], [["1", "2"], 2]);
  const late = held();
  const recorded = late.jobs.record(2);
  late.state.goesOn = false;
  late.jobs.giveBackAll();
  late.record.resolve();
  await recorded;
  assertEquals([late.givenBack, late.jobs.size], [["3", "4", "1", "2"], 0]);
});

Deno.test("HeldJobs: what was abandoned while it was recorded is not given back", async () => {
  const { jobs, record, givenBack } = held();
  const recorded = jobs.record(2);
  jobs.abandon();
  record.resolve();
  await recorded;
  assertEquals([jobs.size, givenBack], [0, []]);
});
