import { assert, assertEquals, assertLess, assertNotEquals, assertRejects } from "../../support/assert.ts";
import { UndeclaredPeriodicError, UniqueConflictError } from "../../../ports/errors.ts";
import type { JobId } from "../../../ports/job.ts";
import type { Json } from "../../../ports/json.ts";
import type { Periodic } from "../../../ports/kind.ts";
import type { Case } from "../case.ts";
import { eventually, pause } from "../eventually.ts";
import { bareJob, type Ghost, type Stage } from "../stage.ts";

const HOUR = 3_600_000;

async function sweep(stage: Stage, change: Record<string, Json> = {}): Promise<Periodic> {
  return { name: "sweep", every: HOUR, handler: await stage.handler("echo"), ...change } as Periodic;
}

async function failing(stage: Stage, every: number): Promise<Periodic> {
  return { name: "sweep", every, handler: await stage.handler("fails") };
}

/** Takes a tick and completes its run with the tick as output, as a process would. */
async function runOnce(ghost: Ghost, expectedMs: number | null, tickMs: number): Promise<JobId> {
  const job = bareJob("periodic:sweep", null, { queue: "maintenance", maxAttempts: 1 });
  await ghost.store.periodics(["sweep"]);
  const made = await ghost.store.takeTick({ periodic: "sweep", expectedMs, tickMs, job });
  const [claimed] = await ghost.claim(1, 1, "maintenance");
  const { id, run } = claimed!;
  assertEquals(id, made);
  const end = { id, run, to: "completed", output: String(tickMs), error: null } as const;
  await ghost.store.settle(ghost.id, [end]);
  return id;
}

/** Work at fixed times. */
export const periodicCases: readonly Case[] = [
  {
    name: "a periodic that has never run runs at start; its last run, next run and result are recorded",
    async run(stage) {
      const runtime = await stage.start({ periodics: [await sweep(stage)] });
      const status = await eventually(async () => {
        const [found] = await runtime.periodic();
        return found!.lastRun !== null && found!;
      });
      const { name, schedule, lastRun, runs, currentJobId } = status;
      assertEquals([name, schedule, currentJobId, runs.length], ["sweep", "every 3600000 ms", null, 1]);
      assertEquals([lastRun!.state, lastRun!.output, lastRun!.error], ["completed", {}, null]);
      assertEquals(Date.parse(status.lastTickAt!) % HOUR, 0);
      assertEquals(Date.parse(status.nextRunAt!) - Date.parse(status.lastTickAt!), HOUR);
      const job = (await runtime.get(lastRun!.jobId))!;
      assertEquals([job.kind, job.queue, job.maxAttempts], ["periodic:sweep", "maintenance", 1]);
    },
  },
  {
    name:
      "a new runtime on the same storage knows the last run, and does not run it again before its next tick",
    async run(stage) {
      const periodics = [await sweep(stage)];
      const first = await stage.start({ periodics });
      await eventually(async () => (await first.periodic())[0]!.lastRun !== null);
      const [known] = await first.periodic();
      await first.stop();
      const second = await stage.start({ periodics });
      await pause(500);
      const [status] = await second.periodic();
      assertEquals(status, known);
      assertEquals((await second.list({ kind: "periodic:sweep" })).length, 1);
    },
  },
  {
    name: "with runAtStart false the first run is at the next tick",
    async run(stage) {
      const runtime = await stage.start({ periodics: [await sweep(stage, { runAtStart: false })] });
      await pause(400);
      const [status] = await runtime.periodic();
      assertEquals([status!.lastTickAt, status!.lastRun], [null, null]);
      assertEquals(Date.parse(status!.nextRunAt!) % HOUR, 0);
      assertEquals(await runtime.list(), []);
    },
  },
  {
    name: "a periodic runs once per tick, at multiples of its period, whatever number of runtimes there are",
    async run(stage) {
      const ghost = await stage.ghost();
      const firstMs = Math.floor(Date.now() / 250) * 250 - 250;
      await runOnce(ghost, null, firstMs);
      await ghost.store.unregister(ghost.id);
      const parts = { periodics: [await sweep(stage, { every: 250 })], settings: { pollMs: 50 } };
      const [one, two] = [await stage.start(parts), await stage.start(parts)];
      const ticks = new Set<string>();
      await eventually(async () => {
        const [status] = await one!.periodic();
        ticks.add(status!.lastTickAt!);
        return ticks.size >= 6;
      }, 10_000);
      await two!.stop();
      await one!.stop();
      const runs = await ghost.store.list({ kind: "periodic:sweep", limit: 1000 });
      const [last] = await ghost.store.periodics(["sweep"]);
      const passed = (last!.lastTickMs! - firstMs) / 250 + 1;
      assert(runs.length >= 6 && runs.length <= passed, `${runs.length} runs in ${passed} ticks`);
      for (const tick of ticks) assertEquals(Date.parse(tick) % 250, 0);
    },
  },
  {
    name: "after downtime a periodic runs once, for the latest tick that has passed: no burst",
    async run(stage) {
      const ghost = await stage.ghost();
      await runOnce(ghost, null, Math.floor(Date.now() / HOUR) * HOUR - 5 * HOUR);
      await ghost.store.unregister(ghost.id);
      const runtime = await stage.start({ periodics: [await sweep(stage)] });
      const status = await eventually(async () => {
        const [found] = await runtime.periodic();
        return found!.runs.length === 2 && found!;
      });
      assert(Date.now() - Date.parse(status.lastTickAt!) < HOUR + 1000);
      await pause(300);
      assertEquals((await runtime.list({ kind: "periodic:sweep" })).length, 2);
    },
  },
  {
    name: "a tick is taken by one of two leaders, also when its job is purged already",
    async run(stage) {
      const [one, two] = [await stage.ghost(), await stage.ghost()];
      const job = bareJob("periodic:sweep", null, { queue: "maintenance", maxAttempts: 1 });
      await one!.store.periodics(["sweep"]);
      const take = (ghost: typeof one, expectedMs: number | null, tickMs: number) =>
        ghost!.store.takeTick({ periodic: "sweep", expectedMs, tickMs, job });
      const taken = await Promise.all([one, two, one, two].map((ghost) => take(ghost, null, 1000)));
      assertEquals(taken.filter((id) => id !== null).length, 1);
      const [claimed] = await one!.claim(1, 1, "maintenance");
      const { id, run } = claimed!;
      await one!.store.settle(one!.id, [{ id, run, to: "completed", output: null, error: null }]);
      await eventually(async () => {
        await one!.store.purge({ completedMs: 0, othersMs: 0, limit: 100 });
        return await one!.store.get(id) === null;
      });
      assertEquals(await take(two, null, 1000), null);
      assertNotEquals(await take(two, 1000, 2000), null);
    },
  },
  {
    name: "no new run begins while one waits or runs",
    async run(stage) {
      const ghost = await stage.ghost();
      const job = bareJob("periodic:sweep", null, { queue: "maintenance", maxAttempts: 1 });
      await ghost.store.periodics(["sweep"]);
      const take = (expectedMs: number | null, tickMs: number) =>
        ghost.store.takeTick({ periodic: "sweep", expectedMs, tickMs, job });
      const first = await take(null, 1000);
      assertNotEquals(first, null);
      assertEquals(await take(1000, 2000), null);
      const [claimed] = await ghost.claim(1, 1, "maintenance");
      assertEquals(await take(1000, 2000), null);
      const { id, run } = claimed!;
      assertEquals(id, first);
      await ghost.store.settle(ghost.id, [{ id, run, to: "completed", output: null, error: null }]);
      assertNotEquals(await take(1000, 2000), null);
    },
  },
  {
    name: "the last 20 runs of a periodic are kept, newest first, also when their jobs are purged",
    async run(stage) {
      const ghost = await stage.ghost();
      const ids: string[] = [];
      for (let tick = 1; tick <= 23; tick++) {
        ids.push(await runOnce(ghost, tick === 1 ? null : tick - 1, tick));
      }
      await eventually(async () => {
        await ghost.store.purge({ completedMs: 0, othersMs: 0, limit: 100 });
        return (await ghost.store.list({ limit: 10 })).length === 0;
      });
      const [row] = await ghost.store.periodics(["sweep"]);
      assertEquals(row!.runs.map(({ jobId }) => jobId), ids.toReversed().slice(0, 20));
      assertEquals(row!.runs.map(({ output }) => output), Array.from({ length: 20 }, (_, n) => 23 - n));
      assertEquals(row!.lastTickMs, 23);
    },
  },
  {
    name:
      "an ended run comes back in line only when no other run waits or runs, and no tick is taken beside it",
    async run(stage) {
      const ghost = await stage.ghost();
      const old = await runOnce(ghost, null, HOUR);
      const job = bareJob("periodic:sweep", null, { queue: "maintenance", maxAttempts: 1 });
      const waits = await ghost.store.runPeriodic(job, "sweep");
      const error = await assertRejects(() => ghost.store.retry(old), UniqueConflictError);
      assertEquals([error.jobId, error.holderId], [old, waits]);
      assertEquals((await ghost.store.get(old))!.state, "completed");
      await ghost.store.cancel(waits);
      await ghost.store.retry(old);
      const request = { periodic: "sweep", expectedMs: HOUR, tickMs: 2 * HOUR, job };
      assertEquals(await ghost.store.takeTick(request), null);
      assertEquals((await ghost.store.periodics(["sweep"]))[0]!.currentJobId, old);
    },
  },
  {
    name: "a failed run is not retried: it is recorded with its error, and the next tick is the retry",
    async run(stage) {
      const runtime = await stage.start({ periodics: [await failing(stage, HOUR)] });
      const status = await eventually(async () => {
        const [found] = await runtime.periodic();
        return found!.lastRun !== null && found!;
      });
      assertEquals([status.lastRun!.state, status.lastRun!.error], ["discarded", "fails every time"]);
      await pause(200);
      assertEquals((await runtime.list({ kind: "periodic:sweep" })).length, 1);
      await runtime.stop();
      const again = await stage.start({ periodics: [await failing(stage, 200)], settings: { pollMs: 50 } });
      await eventually(async () => (await again.periodic())[0]!.runs.length >= 3);
    },
  },
  {
    name: "runPeriodic makes one more run at once and records it",
    async run(stage) {
      const runtime = await stage.start({ periodics: [await sweep(stage)] });
      await eventually(async () => (await runtime.periodic())[0]!.lastRun !== null);
      const [before] = await runtime.periodic();
      const id = await runtime.runPeriodic("sweep");
      await stage.until(runtime, id, "completed", 2000);
      const status = await eventually(async () => {
        const [found] = await runtime.periodic();
        return found!.runs.length === 2 && found!;
      });
      assertEquals(status.lastRun!.jobId, id);
      assertEquals([status.lastTickAt, status.nextRunAt], [before!.lastTickAt, before!.nextRunAt]);
    },
  },
  {
    name: "runPeriodic returns the run that waits already, and refuses an undeclared name",
    async run(stage) {
      const runtime = stage.build({ periodics: [await sweep(stage)] });
      const id = await runtime.runPeriodic("sweep");
      const ids = await Promise.all([runtime.runPeriodic("sweep"), runtime.runPeriodic("sweep")]);
      assertEquals(ids, [id, id]);
      assertEquals((await runtime.periodic())[0]!.currentJobId, id);
      const error = await assertRejects(
        () => runtime.runPeriodic("sweeep"),
        UndeclaredPeriodicError,
        "sweep",
      );
      assertEquals(error.periodic, "sweeep");
    },
  },
  {
    name: "a periodic on a cron expression shows when it is next due, and its zone",
    async run(stage) {
      const runtime = stage.build({
        periodics: [{
          name: "nightly",
          cron: "30 1 * * *",
          timezone: "America/New_York",
          runAtStart: false,
          handler: await stage.handler("echo"),
        }],
      });
      const [status] = await runtime.periodic();
      assert(status!.schedule.includes("30 1 * * *") && status!.schedule.includes("America/New_York"));
      const next = new Date(status!.nextRunAt!);
      assert(next.getTime() > Date.now() && next.getTime() < Date.now() + 26 * HOUR);
      const local = next.toLocaleTimeString("en-GB", { timeZone: "America/New_York" });
      assertEquals(local, "01:30:00");
    },
  },
  {
    name:
      "the lease of the leader is one process's at any time, and passes on when it is given up or runs out",
    async run(stage) {
      const [one, two] = [await stage.ghost(), await stage.ghost()];
      const lead = (ghost: typeof one, leaseMs: number) => ghost!.store.lead(ghost!.id, leaseMs);
      const answers = await Promise.all([lead(one, 60_000), lead(two, 60_000)]);
      assertEquals(answers.filter(Boolean).length, 1);
      const [leader, other] = answers[0] ? [one, two] : [two, one];
      assertEquals([await lead(leader, 60_000), await lead(other, 60_000)], [true, false]);
      await other!.store.resign(other!.id);
      assertEquals(await lead(other, 60_000), false);
      await leader!.store.resign(leader!.id);
      assertEquals(await lead(other, 150), true);
      assertEquals(await lead(leader, 150), false);
      await eventually(() => lead(leader, 60_000), 2000);
    },
  },
  {
    name: "when the leader stops the next one leads at once",
    async run(stage) {
      const parts = {
        periodics: [await sweep(stage, { every: 200 })],
        settings: { pollMs: 50, leaseMs: 30_000 },
      };
      const first = await stage.start(parts);
      await eventually(async () => (await first.periodic())[0]!.runs.length >= 1);
      const second = await stage.start(parts);
      await first.stop();
      const [before] = await second.periodic();
      await eventually(async () => {
        const [now] = await second.periodic();
        return now!.lastTickAt !== before!.lastTickAt;
      }, 4000);
    },
  },
  {
    name:
      "a last tick further ahead than one can be is not believed: the periodic goes on from now, and so do the others",
    async run(stage) {
      const store = await stage.store();
      const aheadMs = Date.now() + 30 * 24 * 60 * 60 * 1000;
      await store.periodics(["ahead", "right"]);
      const job = bareJob("periodic:ahead", null, { queue: "maintenance", maxAttempts: 1 });
      const taken = await store.takeTick({ periodic: "ahead", expectedMs: null, tickMs: aheadMs, job });
      assertNotEquals(taken, null);
      const handler = await stage.handler("echo");
      const runtime = await stage.start({
        periodics: ["ahead", "right"].map((name) => ({ name, every: 200, handler })),
      });
      const status = await eventually(async () => {
        const [ahead, right] = await runtime.periodic();
        return ahead!.runs.length >= 3 && right!.runs.length >= 3 ? ahead! : undefined;
      });
      assertLess(Date.parse(status.lastTickAt!), aheadMs);
      assertLess(Date.parse(status.nextRunAt!), Date.now() + 60_000);
    },
  },
  {
    name: "a lease that runs further ahead than one can is not believed",
    async run(stage) {
      const store = await stage.store();
      const [gone, other] = [crypto.randomUUID(), crypto.randomUUID()];
      assertEquals(await store.lead(gone, 30 * 24 * 60 * 60 * 1000), true);
      assertEquals(await store.lead(other, 1500), true);
      assertEquals(await store.lead(gone, 1500), false);
    },
  },
];
