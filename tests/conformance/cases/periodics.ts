import { assert, assertEquals, assertLess, assertNotEquals, assertRejects } from "../../support/assert.ts";
import { UndeclaredPeriodicError, UniqueConflictError } from "../../../ports/errors.ts";
import type { PeriodicStatus } from "../../../ports/inspector.ts";
import type { JobDetail, JobId } from "../../../ports/job.ts";
import type { Json } from "../../../ports/json.ts";
import type { Periodic } from "../../../ports/kind.ts";
import type { Runtime } from "../../../ports/runtime.ts";
import type { PeriodicPlan, PeriodicRow, Settlement, Store, TakenTick } from "../../../ports/store.ts";
import type { Case } from "../case.ts";
import { eventually, pause } from "../eventually.ts";
import { type Ghost, ownersOf, type Stage } from "../stage.ts";

const HOUR = 3_600_000;

/** What a periodic `sweep` with a handler enqueues. */
const JOB = { kind: "periodic:sweep", queue: "maintenance", priority: 2, maxAttempts: 1, args: "null" };

async function sweep(stage: Stage, change: Record<string, Json> = {}): Promise<Periodic> {
  return { name: "sweep", every: HOUR, handler: await stage.handler("echo"), ...change } as Periodic;
}

async function failing(stage: Stage, change: Record<string, Json> = {}): Promise<Periodic> {
  return { name: "sweep", every: HOUR, handler: await stage.handler("fails"), ...change } as Periodic;
}

/** Reads a stored periodic. */
async function rowOf(store: Store, name = "sweep"): Promise<PeriodicRow | undefined> {
  return (await store.periodics([name])).rows[0];
}

/** Stores a periodic as the leader does: by default as {@linkcode sweep} declares it, long overdue. */
async function planned(store: Store, change: Partial<PeriodicPlan> = {}): Promise<PeriodicRow> {
  const plan: PeriodicPlan = {
    name: "sweep",
    version: (await rowOf(store, change.name))?.version ?? null,
    spec: { schedule: { every: HOUR }, job: JOB },
    declaredMs: 1000,
    isDeclared: true,
    nextTickMs: 1000,
    countsAnew: false,
    ...change,
  };
  assertEquals(await store.planPeriodics([plan]), [plan.name]);
  return (await rowOf(store, plan.name))!;
}

/** Takes a tick of a periodic in its current version; null when it was not taken. */
async function take(store: Store, tickMs: number, name = "sweep"): Promise<TakenTick | null> {
  const { version } = (await rowOf(store, name))!;
  return (await store.takeTicks([{ name, version, tickMs, nextTickMs: tickMs + 1000 }]))[0] ?? null;
}

/** Claims the waiting run, and ends it. */
async function endRun(ghost: Ghost, how: Partial<Settlement> = {}): Promise<JobId> {
  const [claimed] = await ghost.claim(1, 1, "maintenance");
  const { id, run } = claimed!;
  const end = { id, run, to: "completed", output: null, error: null, ...how } as Settlement;
  await ghost.store.settle([end]);
  return id;
}

/** Resolves to the status of a periodic once it is as wanted. */
function statusOnce(
  runtime: Runtime,
  isRight: (status: PeriodicStatus) => boolean,
  deadlineMs?: number,
): Promise<PeriodicStatus> {
  return eventually(async () => (await runtime.periodic()).find(isRight), deadlineMs);
}

const BACKOFF = {
  to: "retry",
  delayMs: HOUR,
  error: { class: "error", message: "it failed" },
  alone: false,
} as const;

/** Scheduled work. */
export const periodicCases: readonly Case[] = [
  {
    name: "a periodic waits for its first tick, also when it is a program's first start",
    async run(stage) {
      const runtime = await stage.start({ periodics: [await sweep(stage)] });
      const store = await stage.store();
      await eventually(async () => (await rowOf(store))?.nextTickMs);
      await pause(400);
      const [status] = await runtime.periodic();
      assertEquals([status!.lastTickAt, status!.lastRun, status!.pausedAt], [null, null, null]);
      assertEquals(Date.parse(status!.nextRunAt!) % HOUR, 0);
      assertEquals(await runtime.list(), []);
    },
  },
  {
    name: "with runAtStart one that has never run runs at once; last run, next run and result are recorded",
    async run(stage) {
      const runtime = await stage.start({ periodics: [await sweep(stage, { runAtStart: true })] });
      const status = await statusOnce(runtime, ({ lastRun }) => lastRun !== null);
      const { name, kind, schedule, lastRun, runs, currentJobId } = status;
      assertEquals([name, kind, schedule], ["sweep", "periodic:sweep", "every 3600000 ms"]);
      assertEquals([currentJobId, runs.length], [null, 1]);
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
      const periodics = [await sweep(stage, { runAtStart: true })];
      const first = await stage.start({ periodics });
      const known = await statusOnce(first, ({ lastRun }) => lastRun !== null);
      await first.stop();
      const second = await stage.start({ periodics });
      await pause(500);
      const [status] = await second.periodic();
      assertEquals(status, known);
      assertEquals((await second.list({ kind: "periodic:sweep" })).length, 1);
    },
  },
  {
    name: "a periodic runs once per tick, at multiples of its period, whatever number of runtimes there are",
    async run(stage) {
      const parts = { periodics: [await sweep(stage, { every: 250 })], settings: { pollMs: 50 } };
      const startedMs = Date.now();
      const [one, two] = [await stage.start(parts), await stage.start(parts)];
      const ticks = new Set<string>();
      await eventually(async () => {
        const [status] = await one!.periodic();
        if (status!.lastTickAt !== null) ticks.add(status!.lastTickAt);
        return ticks.size >= 6;
      }, 10_000);
      await two!.stop();
      await one!.stop();
      const store = await stage.store();
      const runs = await store.list({ kind: "periodic:sweep", limit: 1000 });
      const passed = (await rowOf(store))!.lastTickMs! / 250 - Math.floor(startedMs / 250);
      // The database's clock may differ from ours by milliseconds.
      assert(runs.length >= 6 && runs.length <= passed + 1, `${runs.length} runs in ${passed} ticks`);
      for (const tick of ticks) assertEquals(Date.parse(tick) % 250, 0);
    },
  },
  {
    name: "after downtime a periodic runs once, for the latest tick that has passed: no burst",
    async run(stage) {
      const store = await stage.store();
      await planned(store, { nextTickMs: (Math.floor(Date.now() / HOUR) - 5) * HOUR });
      const runtime = await stage.start({ periodics: [await sweep(stage)] });
      const status = await statusOnce(runtime, ({ runs }) => runs.length === 1);
      assert(Date.now() - Date.parse(status.lastTickAt!) < HOUR + 1000);
      await pause(300);
      assertEquals((await runtime.list({ kind: "periodic:sweep" })).length, 1);
    },
  },
  {
    name: "a tick is taken by one of two leaders, also when its job is purged already",
    async run(stage) {
      const [one, two] = [await stage.ghost(), await stage.ghost()];
      const { version } = await planned(one!.store);
      const tick = { name: "sweep", version, tickMs: 1000, nextTickMs: 2000 };
      const taken = await Promise.all([one, two, one, two].map((ghost) => ghost!.store.takeTicks([tick])));
      assertEquals(taken.flat().map(({ name, queue }) => [name, queue]), [["sweep", "maintenance"]]);
      const id = await endRun(one!);
      assertEquals(taken.flat()[0]!.jobId, id);
      await eventually(async () => {
        await one!.store.purge({ completedMs: 0, othersMs: 0, limit: 100 });
        return await one!.store.get(id) === null;
      });
      assertEquals(await two!.store.takeTicks([tick]), []);
      assertNotEquals(await take(two!.store, 2000), null);
      assertEquals((await rowOf(two!.store))!.lastTickMs, 2000);
    },
  },
  {
    name: "of ticks that are taken together, those of periodics that were changed meanwhile are left out",
    async run(stage) {
      const store = await stage.store();
      const names = ["a", "b", "c", "d"];
      const rows = await Promise.all(names.map((name) => planned(store, { name })));
      await store.pausePeriodic("b");
      await planned(store, { name: "c", nextTickMs: 5000 });
      const ticks = rows.map(({ name, version }) => ({ name, version, tickMs: 1000, nextTickMs: null }));
      const taken = await store.takeTicks(ticks);
      assertEquals(taken.map(({ name }) => name).sort(), ["a", "d"]);
      const stored = (await store.periodics()).rows.map((row) => [row.name, row.lastTickMs, row.nextTickMs]);
      assertEquals(stored, [["a", 1000, null], ["b", null, null], ["c", null, 5000], ["d", 1000, null]]);
    },
  },
  {
    name:
      "those that are due are read a batch after the other, the earliest first, and when the next one comes",
    async run(stage) {
      const store = await stage.store();
      const inAnHourMs = Math.floor(Date.now()) + HOUR;
      for (const [name, nextTickMs] of [["d", 1000], ["c", 2000], ["b", 2000], ["a", 3000]] as const) {
        await planned(store, { name, nextTickMs });
      }
      await planned(store, { name: "later", nextTickMs: inAnHourMs });
      await planned(store, { name: "never", nextTickMs: null });
      const first = await store.duePeriodics({ after: null, limit: 3 });
      assertEquals(first.rows.map(({ name }) => name), ["d", "b", "c"]);
      assertEquals(first.comingMs, inAnHourMs);
      const after = { tickMs: 2000, name: "c" };
      const rest = await store.duePeriodics({ after, limit: 3 });
      assertEquals(rest.rows.map(({ name }) => name), ["a"]);
      assertEquals(rest.rows[0]!.spec, { schedule: { every: HOUR }, job: JOB });
    },
  },
  {
    name: "no new run begins while one is due or runs",
    async run(stage) {
      const ghost = await stage.ghost();
      await planned(ghost.store);
      const first = await take(ghost.store, 1000);
      assertNotEquals(first, null);
      assertEquals(await take(ghost.store, 2000), null);
      const [claimed] = await ghost.claim(1, 1, "maintenance");
      assertEquals(await take(ghost.store, 2000), null);
      const { id, run } = claimed!;
      assertEquals(id, first!.jobId);
      // It failed, and its next attempt is due: it is only waiting for its turn.
      await ghost.store.settle([{ id, run, ...BACKOFF, delayMs: 0 }]);
      assertEquals(await take(ghost.store, 2000), null);
      await endRun(ghost);
      assertNotEquals(await take(ghost.store, 2000), null);
    },
  },
  {
    name: "a run that waits for a later attempt is superseded by the next tick, and recorded so",
    async run(stage) {
      const ghost = await stage.ghost();
      await planned(ghost.store);
      for (
        const [tickMs, how] of [[1000, BACKOFF], [2000, { ...BACKOFF, to: "snooze", error: null }]] as const
      ) {
        await take(ghost.store, tickMs);
        const old = await endRun(ghost, how as Partial<Settlement>);
        const next = await take(ghost.store, tickMs + 1000);
        assertNotEquals(next, null);
        const job = (await ghost.store.get(old))!;
        assertEquals([job.state, job.errors.at(-1)!.class], ["cancelled", "superseded"]);
        const { runs, currentJobId } = (await rowOf(ghost.store))!;
        assertEquals([currentJobId, runs[0]!.jobId, runs[0]!.state], [next!.jobId, old, "cancelled"]);
        assert(/next run/.test(runs[0]!.error!), runs[0]!.error!);
        await endRun(ghost);
      }
    },
  },
  {
    name: "the last 20 runs of a periodic are kept, newest first, also when their jobs are purged",
    async run(stage) {
      const ghost = await stage.ghost();
      await planned(ghost.store);
      const ids: string[] = [];
      for (let tick = 1; tick <= 23; tick++) {
        await take(ghost.store, tick);
        ids.push(await endRun(ghost, { output: String(tick) }));
      }
      await eventually(async () => {
        await ghost.store.purge({ completedMs: 0, othersMs: 0, limit: 100 });
        return (await ghost.store.list({ limit: 10 })).length === 0;
      });
      const row = (await rowOf(ghost.store))!;
      assertEquals(row.runs.map(({ jobId }) => jobId), ids.toReversed().slice(0, 20));
      assertEquals(row.runs.map(({ output }) => output), Array.from({ length: 20 }, (_, n) => 23 - n));
      assertEquals(row.lastTickMs, 23);
      const { rows: [bare] } = await ghost.store.periodics(["sweep"], { runs: false });
      assertEquals(bare!.runs, []);
    },
  },
  {
    name:
      "an ended run comes back in line only when no other run waits or runs, and no tick is taken beside it",
    async run(stage) {
      const ghost = await stage.ghost();
      // An ordinary kind, whose name doesn't reveal that it is a periodic's.
      const job = { ...JOB, kind: "build" };
      await planned(ghost.store, { spec: { schedule: { every: HOUR }, job } });
      await take(ghost.store, HOUR);
      const old = await endRun(ghost);
      const waits = await ghost.store.runPeriodic("sweep", job);
      const error = await assertRejects(() => ghost.store.retry(old), UniqueConflictError);
      assertEquals([error.jobId, error.holderId], [old, waits]);
      assertEquals((await ghost.store.get(old))!.state, "completed");
      await ghost.store.cancel(waits);
      await ghost.store.retry(old);
      assertEquals(await take(ghost.store, 2 * HOUR), null);
      assertEquals((await rowOf(ghost.store))!.currentJobId, old);
      await endRun(ghost);
      assertEquals((await rowOf(ghost.store))!.runs.map(({ jobId }) => jobId), [old, waits, old]);
    },
  },
  {
    name:
      "a tick enqueues a job of a declared kind, with the periodic's args and the kind's queue and attempts",
    async run(stage) {
      const kinds = [
        stage.kind("build", { queue: "slow", maxAttempts: 4, handler: await stage.handler("echo") }),
      ];
      const queues = [{ name: "default", concurrency: 2 }, { name: "slow", concurrency: 1 }];
      const common = { every: HOUR, kind: "build", args: { month: "2026-11" }, runAtStart: true };
      const periodics: Periodic[] = [
        { name: "report", ...common },
        { name: "urgent", ...common, queue: "default", priority: 1 },
      ];
      const runtime = await stage.start({ kinds, queues, periodics });
      const done = await eventually(async () => {
        const all = await runtime.periodic();
        return all.every(({ lastRun }) => lastRun !== null) && all;
      });
      assertEquals(done.map(({ name, kind }) => [name, kind]), [["report", "build"], ["urgent", "build"]]);
      const jobs = await Promise.all(done.map(({ lastRun }) => runtime.get(lastRun!.jobId))) as JobDetail[];
      assertEquals(
        jobs.map(({ kind, queue, priority, maxAttempts, args, state }) => ({
          ...{ kind, queue, priority, maxAttempts, args, state },
        })),
        [
          {
            kind: "build",
            queue: "slow",
            priority: 2,
            maxAttempts: 4,
            args: common.args,
            state: "completed",
          },
          {
            kind: "build",
            queue: "default",
            priority: 1,
            maxAttempts: 4,
            args: common.args,
            state: "completed",
          },
        ],
      );
      assertEquals(done.map(({ lastRun }) => lastRun!.output), [common.args, common.args]);
      // The kind can still be enqueued as usual.
      const id = await runtime.enqueue("build", { month: "2026-12" });
      await stage.until(runtime, id, "completed");
      assertEquals((await runtime.periodic()).map(({ runs }) => runs.length), [1, 1]);
    },
  },
  {
    name: "a failed run is not retried unless its periodic says so: the next tick is the retry",
    async run(stage) {
      const runtime = await stage.start({ periodics: [await failing(stage, { runAtStart: true })] });
      const status = await statusOnce(runtime, ({ lastRun }) => lastRun !== null);
      assertEquals([status.lastRun!.state, status.lastRun!.error], ["discarded", "fails every time"]);
      await pause(200);
      assertEquals((await runtime.list({ kind: "periodic:sweep" })).length, 1);
      await runtime.stop();
      const again = await stage.start({
        periodics: [await failing(stage, { every: 200 })],
        settings: { pollMs: 50 },
      });
      await statusOnce(again, ({ runs }) => runs.length >= 3);
    },
  },
  {
    name: "a periodic with a handler has the attempts, the backoff, the timeout and the queue that it says",
    async run(stage) {
      const queues = [{ name: "nightly", concurrency: 1 }];
      const periodics = [
        {
          ...await failing(stage, { runAtStart: true, maxAttempts: 3, queue: "nightly" }),
          backoff: () => 20,
        } as Periodic,
        {
          ...await sweep(stage, { name: "slow", timeout: 100, runAtStart: true }),
          handler: await stage.handler("sleeps"),
        },
      ];
      const runtime = await stage.start({ queues, periodics });
      const failed = await statusOnce(runtime, ({ name, lastRun }) => name === "sweep" && lastRun !== null);
      const job = (await runtime.get(failed.lastRun!.jobId))!;
      assertEquals([job.state, job.attempt, job.maxAttempts, job.queue], ["discarded", 3, 3, "nightly"]);
      const slow = await statusOnce(runtime, ({ name, lastRun }) => name === "slow" && lastRun !== null);
      assertEquals((await runtime.get(slow.lastRun!.jobId))!.errors[0]!.class, "timeout");
    },
  },
  {
    name: "runPeriodic makes one more run at once and records it",
    async run(stage) {
      const runtime = await stage.start({ periodics: [await sweep(stage, { runAtStart: true })] });
      const before = await statusOnce(runtime, ({ lastRun }) => lastRun !== null);
      const id = await runtime.runPeriodic("sweep");
      await stage.until(runtime, id, "completed", 2000);
      const status = await statusOnce(runtime, ({ runs }) => runs.length === 2);
      assertEquals(status.lastRun!.jobId, id);
      assertEquals([status.lastTickAt, status.nextRunAt], [before.lastTickAt, before.nextRunAt]);
    },
  },
  {
    name: "runPeriodic supersedes a run that waits for a later attempt",
    async run(stage) {
      const ghost = await stage.ghost();
      const old = await ghost.store.runPeriodic("sweep", JOB);
      assertEquals(await endRun(ghost, BACKOFF), old);
      const next = await ghost.store.runPeriodic("sweep", JOB);
      assertNotEquals(next, old);
      assertEquals((await ghost.store.get(old))!.errors.at(-1)!.class, "superseded");
      assertEquals((await rowOf(ghost.store))!.currentJobId, next);
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
    name: "a paused periodic has no ticks in the whole fleet, and counts from its resumption",
    async run(stage) {
      const parts = { periodics: [await sweep(stage, { every: 200 })], settings: { pollMs: 50 } };
      const [one, two] = [await stage.start(parts), stage.build(parts)];
      await statusOnce(one, ({ runs }) => runs.length >= 2);
      await two.pausePeriodic("sweep");
      await two.pausePeriodic("sweep");
      const paused = await statusOnce(one, ({ currentJobId }) => currentJobId === null);
      assertEquals(paused.nextRunAt, null);
      assert(Math.abs(Date.now() - Date.parse(paused.pausedAt!)) < 10_000, String(paused.pausedAt));
      await pause(500);
      assertEquals(await one.periodic(), [paused]);
      const byHand = await one.runPeriodic("sweep");
      await stage.until(one, byHand, "completed");
      const resumedMs = Date.now();
      await two.resumePeriodic("sweep");
      await two.resumePeriodic("sweep");
      const status = await statusOnce(one, ({ lastTickAt }) => lastTickAt !== paused.lastTickAt);
      assertEquals(status.pausedAt, null);
      assert(Date.parse(status.lastTickAt!) >= resumedMs - 200, `${status.lastTickAt} was made up for`);
      for (const act of ["pausePeriodic", "resumePeriodic"] as const) {
        await assertRejects(() => one[act]("sweeep"), UndeclaredPeriodicError, "sweep");
      }
    },
  },
  {
    name: "a periodic that is paused before it was ever declared stays so",
    async run(stage) {
      const parts = { periodics: [await sweep(stage, { every: 200, runAtStart: true })] };
      await stage.build(parts).pausePeriodic("sweep");
      const runtime = await stage.start(parts);
      const store = await stage.store();
      await eventually(async () => (await rowOf(store))!.spec !== null);
      await pause(300);
      assertEquals((await runtime.list()).length, 0);
      await runtime.resumePeriodic("sweep");
      await statusOnce(runtime, ({ lastRun }) => lastRun !== null);
    },
  },
  {
    name: "a schedule that was changed counts from the change: no run for a tick that it never had",
    async run(stage) {
      const store = await stage.store();
      const schedule = { cron: "0 12 * * *", timezone: "UTC" };
      await planned(store, { spec: { schedule, job: JOB }, nextTickMs: Date.now() - 20 * HOUR });
      const runtime = await stage.start({ periodics: [await sweep(stage)] });
      const status = await statusOnce(runtime, ({ schedule }) => schedule.startsWith("every"));
      const nextMs = Date.parse(status.nextRunAt!);
      assert(nextMs > Date.now() - 1000 && nextMs <= Date.now() + HOUR, status.nextRunAt!);
      await pause(300);
      assertEquals(await runtime.list(), []);
    },
  },
  {
    name: "what no living process declares has no ticks any more",
    async run(stage) {
      const store = await stage.store();
      await planned(store);
      await stage.start({ periodics: [await sweep(stage, { name: "other" })] });
      const gone = await eventually(async () => {
        const row = await rowOf(store);
        return row!.undeclaredMs !== null && row;
      });
      assertEquals(gone!.nextTickMs, null);
      assertEquals((await store.list({ limit: 10 })).length, 0);
      assertEquals((await rowOf(store, "other"))!.undeclaredMs, null);
    },
  },
  {
    name: "of two schedules the one declared last holds, until no living process declares it",
    async run(stage) {
      const parts = async (every: number) => ({ periodics: [await sweep(stage, { every })] });
      const older = await stage.start(await parts(300));
      await statusOnce(older, ({ lastTickAt }) => lastTickAt !== null);
      const newer = await stage.start(await parts(700));
      const [before] = await older.periodic();
      // Any leader takes the ticks of stored periodics, whatever it declares itself.
      const status = await statusOnce(
        older,
        ({ schedule, lastTickAt }) =>
          schedule === "every 700 ms" && Date.parse(lastTickAt!) > Date.parse(before!.lastTickAt!) + 1400,
      );
      assertEquals(Date.parse(status.lastTickAt!) % 700, 0);
      await newer.stop();
      const after = await statusOnce(
        older,
        ({ schedule, lastTickAt }) => schedule === "every 300 ms" && Date.parse(lastTickAt!) % 700 !== 0,
      );
      assertEquals(Date.parse(after.lastTickAt!) % 300, 0);
    },
  },
  {
    name: "what a process declares is known while it is on the record, the newest declaration first",
    async run(stage) {
      const store = await stage.store();
      const declare = async (every: number): Promise<string> => {
        const id = crypto.randomUUID();
        const job = { ...JOB, args: JSON.stringify({ b: [1, null], a: "\u00e4" }) };
        const periodics = [{ name: "sweep", schedule: { every }, job, runAtStart: true }];
        await store.register({ id, name: "ghost", queues: [], periodics });
        return id;
      };
      const [one] = [await declare(1000), await stage.ghost()];
      await pause(5);
      const two = await declare(2000);
      assert((await ownersOf(store)).length >= 3);
      const declared = await store.declaredPeriodics();
      assertEquals(declared.map(({ periodics }) => periodics[0]!.schedule), [{ every: 2000 }, {
        every: 1000,
      }]);
      assert(declared[0]!.atMs > declared[1]!.atMs);
      const { job, runAtStart } = declared[0]!.periodics[0]!;
      assertEquals([JSON.parse(job.args), runAtStart], [{ a: "\u00e4", b: [1, null] }, true]);
      await store.unregister(two);
      await store.unregister(one);
      assertEquals(await store.declaredPeriodics(), []);
    },
  },
  {
    name:
      "a next tick further ahead than one can be is not believed: the periodic goes on from now, and so do the others",
    async run(stage) {
      const store = await stage.store();
      const aheadMs = Math.floor(Date.now()) + 30 * 24 * HOUR;
      const job = { ...JOB, kind: "periodic:ahead" };
      await planned(store, {
        name: "ahead",
        spec: { schedule: { every: 200 }, job },
        nextTickMs: aheadMs,
      });
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
