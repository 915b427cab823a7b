import type { Event } from "../journal.ts";
import type { JobRow } from "./evidence.ts";
import { alive, BEGAN, end, enqueued, failed, frozen, job, prove, type Sample, start } from "./samples.ts";

const well = [enqueued, start("a"), end("a")];

const saw = (execution: string, ...changes: number[]): Event => ({ what: "saw", execution, changes });
const followed = [enqueued, start("a", { kind: "follow" }), saw("a", 7), end("a")];
const follower = (change: Partial<JobRow> = {}) => job({ kind: "follow", thing: "t", key: "k", ...change });
const changeOf = (number: number) => ({ number, kind: "follow", thing: "t" });

const away: Event = { what: "out", pid: null, why: "the server was killed" };
const cutOff: Event = { what: "disturbed", pid: 11, why: "its connections were cut" };
const startFailed = (why: string): Event => ({ what: "died", pid: 11, why, started: false });

const SAMPLES: readonly Sample[] = [
  { name: "a job that ran once and completed is well", events: well, jobs: [job()], broken: [] },
  { name: "an acknowledged job that is in no table", events: [enqueued], jobs: [], broken: ["lost"] },
  {
    name: "a job of a transaction that rolled back",
    events: [{ what: "rolled back", id: "1" }, start("a"), end("a")],
    jobs: [job()],
    broken: ["rolled back"],
  },
  {
    name: "a job that has the number of one that was rolled back before a crash is well",
    events: [{ what: "rolled back", id: "1" }, ...well],
    jobs: [job({ enqueuedAt: BEGAN + 50 })],
    broken: [],
  },
  {
    name: "a run of a job that does not exist",
    events: [start("a"), end("a")],
    jobs: [],
    broken: ["ran without a job"],
  },
  {
    name: "a job that never ends",
    events: [enqueued],
    jobs: [job({ state: "running", output: null })],
    broken: ["stuck"],
  },
  {
    name: "an order without its job",
    events: well,
    jobs: [job()],
    more: { orders: ["order of x"] },
    broken: ["order without job"],
  },
  {
    name: "a job without its order",
    events: well,
    jobs: [job({ tag: "order of x" })],
    broken: ["job without order"],
  },
  {
    name: "an end that wait told and that is not so",
    events: [...well, { what: "waited", id: "1", state: "discarded" }],
    jobs: [job()],
    broken: ["wait"],
  },
  {
    name: "a running job that was cancelled and completes",
    events: [enqueued, start("a"), { what: "cancel", id: "1", result: "requested" }, end("a")],
    jobs: [job()],
    broken: ["cancel"],
  },
  {
    name: "a waiting job that was cancelled and runs",
    events: [enqueued, { what: "cancel", id: "1", result: "cancelled" }, start("a"), end("a")],
    jobs: [job({ state: "cancelled", output: null })],
    broken: ["cancel"],
  },
  {
    name: "an error that no contract knows",
    events: [...well, { what: "odd", text: "TypeError" }],
    jobs: [job()],
    broken: ["unknown error"],
  },
  {
    name: "two starts in one run",
    events: [...well, start("b"), end("b")],
    jobs: [job({ output: "b" })],
    broken: ["two starts of one run"],
  },
  {
    name: "two runs at once in healthy processes",
    events: [enqueued, start("a"), start("b", { pid: 20, runtime: 20 }), alive("a"), end("b")],
    jobs: [job({ run: 2, output: "b" })],
    broken: ["two runs at once"],
  },
  {
    name: "two runs at once after the first one's process was frozen are well",
    events: [
      enqueued,
      start("a"),
      ...frozen,
      start("b", { pid: 20, runtime: 20, attempt: 2 }),
      alive("a"),
      end("b"),
    ],
    jobs: [job({ run: 2, attempt: 2, output: "b", errors: [failed(1, "worker lost", 6000)] })],
    broken: [],
  },
  {
    name: "a zombie's result that was taken",
    events: [
      enqueued,
      start("a"),
      ...frozen,
      start("b", { pid: 20, runtime: 20, attempt: 2 }),
      end("b"),
      end("a"),
    ],
    jobs: [job({ run: 2, attempt: 2, output: "c", errors: [failed(1, "worker lost", 6000)] })],
    broken: ["completed by nobody"],
  },
  {
    name: "a result that was taken though another run began after it",
    events: [...well, start("b", { pid: 20, runtime: 20 }), alive("b")],
    jobs: [job({ run: 2 })],
    broken: ["fence"],
  },
  {
    name: "a completed job that nobody ran",
    events: [enqueued],
    jobs: [job()],
    broken: ["completed without a run"],
  },
  {
    name: "a job of the product's own, which writes nothing down, is well",
    events: [],
    jobs: [job({ kind: "periodic:outbox.retention", tag: null, output: null })],
    broken: [],
  },
  {
    name: "an attempt that was charged and left no error",
    events: [enqueued, start("a", { attempt: 2 }), end("a")],
    jobs: [job({ attempt: 2, run: 2 })],
    broken: ["attempts"],
  },
  {
    name: "more attempts than there are",
    events: [enqueued, start("a", { attempt: 4 }), end("a")],
    jobs: [job({ attempt: 4, run: 4, errors: [1, 2, 3].map((attempt) => failed(attempt, "error")) })],
    broken: ["attempts", "charged", "charged", "charged"],
  },
  {
    name: "a snooze that nobody asked for",
    events: well,
    jobs: [job({ snoozes: 1, run: 2 })],
    broken: ["attempts"],
  },
  {
    name: "a job that is charged for a crash of its neighbour",
    events: [enqueued, start("a"), start("b", { attempt: 2 }), end("b")],
    jobs: [job({ attempt: 2, run: 2, output: "b", errors: [failed(1, "crash", 200)] })],
    broken: ["charged"],
  },
  {
    name: "a job that is charged for passing its limit, and did not",
    events: [enqueued, start("a"), end("a", "throw"), start("b", { attempt: 2 }), end("b")],
    jobs: [job({ attempt: 2, run: 2, output: "b", errors: [failed(1, "timeout", 300)] })],
    broken: ["charged"],
  },
  {
    name: "a job that passed its limit while its process stood still is well",
    events: [
      ...[enqueued, start("a"), alive("a"), alive("a"), end("a")],
      ...[{ what: "stall", pid: 10, ms: 250 } as const, start("b", { attempt: 2 }), end("b")],
    ],
    jobs: [job({ attempt: 2, run: 2, output: "b", errors: [failed(1, "timeout", 550)] })],
    broken: [],
  },
  {
    name: "a job that is charged for a process that did not die",
    events: [enqueued, start("a"), start("b", { attempt: 2 }), end("b")],
    jobs: [job({ attempt: 2, run: 2, output: "b", errors: [failed(1, "worker lost", 200)] })],
    broken: ["charged"],
  },
  {
    name: "a job whose process was killed, and that was charged for it, is well",
    events: [
      ...[enqueued, start("a"), { what: "kill", pid: 10, by: "injector" } as const],
      ...[start("b", { attempt: 2, pid: 20, runtime: 20 }), end("b")],
    ],
    jobs: [job({ attempt: 2, run: 2, output: "b", errors: [failed(1, "worker lost", 250)] })],
    broken: [],
  },
  {
    name: "a job that was given back, and charged for a run that died before its handler began, is well",
    events: [
      ...[enqueued, start("a"), { what: "kill", pid: 20, by: "injector" } as const],
      ...[start("b", { attempt: 2, pid: 30, runtime: 30 }), end("b")],
    ],
    jobs: [job({ attempt: 2, run: 3, output: "b", errors: [failed(1, "worker lost", 250)] })],
    broken: [],
  },
  {
    name: "a job whose host process began it just after its worker program was killed is well",
    events: [
      ...[enqueued, { what: "kill", pid: 10, by: "injector" } as const, start("a", { pid: 11 })],
      ...[start("b", { attempt: 2, pid: 20, runtime: 20 }), end("b")],
    ],
    jobs: [job({ attempt: 2, run: 2, output: "b", errors: [failed(1, "worker lost", 250)] })],
    broken: [],
  },
  {
    name: "a job that its process began when it was thawed, after it had been charged, is well",
    events: [
      ...[enqueued, ...frozen, ...frozen.slice(1), ...frozen.slice(1), start("a"), end("a")],
      ...[start("b", { attempt: 2, pid: 20, runtime: 20 }), end("b")],
    ],
    jobs: [job({ attempt: 2, run: 2, output: "b", errors: [failed(1, "worker lost", 4500)] })],
    broken: [],
  },
  {
    name: "a job whose process was killed, and that was not charged for it",
    events: [
      ...[enqueued, start("a"), { what: "kill", pid: 10, by: "injector" } as const],
      ...[start("b", { pid: 20, runtime: 20 }), end("b")],
    ],
    jobs: [job({ run: 2, output: "b" })],
    broken: ["death not charged"],
  },
  {
    name: "a job whose process was killed when its end was under way is well",
    events: [
      ...[enqueued, start("a", { kind: "slow" }), { what: "kill", pid: 10, by: "injector" } as const],
      ...[start("b", { kind: "slow", attempt: 2, pid: 20, runtime: 20 }), end("b")],
    ],
    jobs: [job({ kind: "slow", attempt: 2, run: 2, output: "b", errors: [failed(1, "timeout", 250)] })],
    broken: [],
  },
  {
    name: "a worker program that died by itself",
    events: [...well, { what: "died", pid: 10, why: "exit 1", started: true }],
    jobs: [job()],
    broken: ["process died"],
  },
  {
    name: "a worker program whose start failed by itself",
    events: [...well, { what: "starting", pid: 11 }, startFailed("exit 1")],
    jobs: [job()],
    broken: ["start failed"],
  },
  {
    name: "a worker program whose start failed when the database was away is well",
    events: [...well, away, { what: "starting", pid: 11 }, startFailed("exit 1")],
    jobs: [job()],
    broken: [],
  },
  {
    name: "a worker program whose start failed when its connections broke is well",
    events: [...well, { what: "starting", pid: 11 }, cutOff, startFailed("exit 1")],
    jobs: [job()],
    broken: [],
  },
  {
    name: "a worker program that died of a signal in its start, whatever else happened",
    events: [...well, { what: "starting", pid: 11 }, cutOff, startFailed("SIGSEGV")],
    jobs: [job()],
    broken: ["start failed"],
  },
  {
    name: "two jobs with one unique key",
    events: [...well, start("b", { id: "2" }), end("b")],
    jobs: [job({ key: "k" }), job({ id: "2", key: "k", output: "b" })],
    broken: ["unique"],
  },
  {
    name: "two jobs that held one unique key for a while",
    events: well,
    jobs: [job()],
    more: { sharedKeys: ["jobs {1,2}"] },
    broken: ["unique"],
  },
  {
    name: "jobs that follow one thing, one after the other, are well",
    events: [...followed, start("b", { id: "2", kind: "follow" }), saw("b", 7, 8), end("b")],
    jobs: [follower(), follower({ id: "2", output: "b" })],
    more: { changes: [changeOf(7), changeOf(8)] },
    broken: [],
  },
  {
    name: "a change that no run has seen",
    events: followed,
    jobs: [follower()],
    more: { changes: [changeOf(7), changeOf(8)] },
    broken: ["change unseen"],
  },
  {
    name: "a change that only a run has seen that failed",
    events: [enqueued, start("a", { kind: "follow" }), saw("a", 7), end("a", "throw")],
    jobs: [follower({ state: "discarded", output: null, errors: [failed(1, "error")] })],
    more: { changes: [changeOf(7)] },
    broken: ["change unseen"],
  },
  {
    name: "a job that is superseded by a newer twin is well",
    events: [
      ...[enqueued, start("a", { kind: "follow" }), saw("a", 7), end("a", "throw")],
      ...[start("b", { id: "2", kind: "follow" }), saw("b", 7, 8), end("b")],
    ],
    jobs: [
      follower({ state: "cancelled", output: null, errors: [failed(1, "error"), failed(1, "superseded")] }),
      follower({ id: "2", output: "b", enqueuedAt: BEGAN + 10 }),
    ],
    more: { changes: [changeOf(7), changeOf(8)] },
    broken: [],
  },
  {
    name: "a job that is superseded by nobody",
    events: followed,
    jobs: [
      follower({ state: "cancelled", errors: [failed(1, "superseded")] }),
      follower({ id: "2", thing: "another", state: "cancelled", attempt: 0, run: 0, output: null }),
    ],
    more: { changes: [changeOf(7)] },
    broken: ["charged"],
  },
  {
    name: "a tick that was taken twice",
    events: [1, 2, 3].flatMap((n) => [start(`p${n}`, { id: `${n}`, kind: "periodic:p" }), end(`p${n}`)]),
    jobs: [1, 2, 3].map((n) =>
      job({
        ...{ id: `${n}`, kind: "periodic:p", output: `p${n}`, tag: null },
        ...{ enqueuedAt: BEGAN + n * 10, finishedAt: BEGAN + n * 10 + 5 },
      })
    ),
    more: { periods: { p: 1000 } },
    broken: ["tick twice"],
  },
  {
    name: "two runs of a periodic at once",
    events: [1, 2].flatMap((n) => [start(`p${n}`, { id: `${n}`, kind: "periodic:p" }), end(`p${n}`)]),
    jobs: [1, 2].map((n) =>
      job({
        ...{ id: `${n}`, kind: "periodic:p", output: `p${n}`, tag: null },
        ...{ enqueuedAt: BEGAN + n * 1000, finishedAt: BEGAN + n * 1000 + 1500 },
      })
    ),
    more: { periods: { p: 1000 } },
    broken: ["two runs of a periodic"],
  },
  {
    name: "an effect that is there twice",
    events: [enqueued, start("a", { kind: "effect" }), end("a")],
    jobs: [job({ kind: "effect" })],
    more: { effects: [{ jobId: "1", execution: "a" }, { jobId: "1", execution: "a" }] },
    broken: ["effect"],
  },
  {
    name: "an effect of a job that did not complete",
    events: [enqueued, start("a", { kind: "effect" }), end("a", "throw")],
    jobs: [job({ kind: "effect", state: "discarded", output: null, errors: [failed(1, "error")] })],
    more: { effects: [{ jobId: "1", execution: "a" }] },
    broken: ["effect"],
  },
];

prove(SAMPLES);
