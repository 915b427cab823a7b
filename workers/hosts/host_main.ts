/**
 * The host process's side: a pool of threads, driven by frames on standard input. It ends when that is closed, which
 * happens when the process that started it dies, however that comes about.
 *
 * @module
 */
import type { ContextJob } from "../job_context.ts";
import { ThreadPool } from "../threads/thread_pool.ts";
import { encodeMarkedFrames, readLines } from "./frames.ts";
import { HostCalls } from "./host_calls.ts";
import type { HostCommand, HostReport, HostSetup } from "./protocol.ts";

class HostMain {
  #token: string;
  #pool: ThreadPool;
  #keys = new Map<number, number>();
  #keyOf = new Map<ContextJob, number>();
  #calls = new HostCalls((report) => this.#report(report));
  #reports: HostReport[] = [];

  constructor(setup: HostSetup) {
    this.#token = setup.token;
    this.#pool = new ThreadPool({
      threads: setup.threads,
      jobsPerThread: setup.jobsPerThread,
      graceMs: setup.graceMs,
      completion: setup.completion,
      surroundings: {
        log: (level, event, fields) => this.#report(["log", level, event, fields]),
        output: (job, line) => this.#report(["output", job.kind, job.id, line]),
        threadLost: (job) => this.#report(["lost", job.kind, job.id]),
        call: (job, request, signal) => this.#calls.call(this.#keyOf.get(job)!, request, signal),
        jobs: (job, order, tx) => this.#calls.order(this.#keyOf.get(job)!, order, tx),
      },
    });
    this.#report(["ready"]);
  }

  take(command: HostCommand): void {
    switch (command[0]) {
      case "run": {
        const [, key, work] = command;
        const poolKey = this.#pool.run(work, {
          progress: (done, note) => this.#report(["progress", key, done, note ?? null]),
          ended: (outcome) => {
            this.#keys.delete(key);
            this.#keyOf.delete(work);
            this.#report(["ended", key, outcome]);
          },
        });
        this.#keys.set(key, poolKey);
        this.#keyOf.set(work, key);
        break;
      }
      case "abort": {
        const poolKey = this.#keys.get(command[1]);
        if (poolKey !== undefined) this.#pool.abort(poolKey, command[2]);
        break;
      }
      case "check": {
        const [, check, module] = command;
        this.#pool.check(module).then((fault) => this.#report(["checked", check, fault]));
        break;
      }
      case "called":
        this.#calls.called(command[1], command[2], command[3]);
        break;
      case "statement":
        this.#calls.statement(command);
        break;
      case "ping":
        this.#report(["pong"]);
        break;
    }
  }

  #report(report: HostReport): void {
    this.#reports.push(report);
    if (this.#reports.length === 1) setImmediate(() => this.#flush());
  }

  #flush(): void {
    const bytes = encodeMarkedFrames(this.#token, this.#reports);
    this.#reports = [];
    try {
      for (let at = 0; at < bytes.length;) at += Deno.stdout.writeSync(bytes.subarray(at));
    } catch {
      // Nobody is left to tell.
      Deno.exit(0);
    }
  }
}

// A terminal's Ctrl-C and a service manager's SIGTERM go to every process of a group. Whoever started this one stops its
// jobs in an orderly way, and then ends it.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  try {
    Deno.addSignalListener(signal, () => {});
  } catch {
    // This system has no such signal.
  }
}

let main: HostMain | undefined;
for await (const lines of readLines(Deno.stdin.readable.getReader())) {
  for (const line of lines) {
    if (main === undefined) main = new HostMain(JSON.parse(line) as HostSetup);
    else main.take(JSON.parse(line) as HostCommand);
  }
}
Deno.exit(0);
