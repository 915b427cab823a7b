import { RuntimeStateError } from "../ports/errors.ts";
import type {
  AbortReason,
  Attempt,
  AttemptObserver,
  Executor,
  ExecutorStart,
  ExecutorStats,
} from "../ports/executor.ts";
import type { CallOptions } from "../ports/handler.ts";
import type { Jobs } from "../ports/jobs.ts";
import type { Json, JsonInput } from "../ports/json.ts";
import type { Kind } from "../ports/kind.ts";
import type { Log } from "../ports/log.ts";
import { guardLog } from "../shared/log.ts";
import { resolveOptions } from "../shared/options.ts";
import { describeError } from "./describe_error.ts";
import { callModule } from "./hosts/call_modules.ts";
import type { Caller } from "./hosts/caller.ts";
import type { Confinement } from "./hosts/host_group.ts";
import { HostPool } from "./hosts/host_pool.ts";
import { InlineRunner } from "./inline/inline_runner.ts";
import { carryOut } from "./jobs/job_order.ts";
import { moduleSpecifier } from "./module_specifier.ts";
import { EXECUTOR_OPTIONS, type ExecutorOptions, type ExecutorTimes } from "./options.ts";
import { writeLine } from "./output.ts";
import { ThreadPool } from "./threads/thread_pool.ts";
import { unthrowing, UnthrowingObserver } from "./unthrowing.ts";
import type { CallRequest, JobName, Work, WorkSurroundings } from "./work.ts";

/**
 * Makes an executor: functions run in the main thread, handler modules in worker threads, and in host processes where
 * their kind declares `permissions`, `memory` or `isolation: "process"`. Nothing is started before it is needed.
 *
 * @throws {InvalidOptionError} an option is out of its range.
 */
export function createExecutor(options: ExecutorOptions): Executor {
  return new LocalExecutor(options);
}

/** Where an attempt runs. Its key is the key that it has there, times their number, plus this. */
const PLACE = { inline: 0, threads: 1, hosts: 2 } as const;
const PLACES = 3;

/** What {@linkcode createExecutor} makes. */
export class LocalExecutor implements Executor {
  #log: Log;
  #output: (line: string) => void;
  #inline: InlineRunner;
  #threads: ThreadPool;
  #hosts: HostPool;
  #start: ExecutorStart | null = null;
  #stopped = false;

  /** Starts nothing. `times` are for tests. */
  constructor(options: ExecutorOptions, times: ExecutorTimes = {}) {
    const given = resolveOptions("the options of an executor", options, EXECUTOR_OPTIONS);
    const { threads = navigator.hardwareConcurrency, hosts = Math.max(8, 4 * threads) } = given;
    const [jobsPerThread, graceMs] = [given.jobsPerThread!, given.graceMs!];
    const { memoryWatchMs = 250, hostIdleMs = 30_000, standstillMs = 5000 } = times;
    const completion = options.completion ?? null;
    this.#log = guardLog(options.log);
    // What can't be printed is dropped, as a log line is.
    this.#output = unthrowing(options.output ?? writeLine, () => {});
    const surroundings: Omit<WorkSurroundings, "call" | "jobs"> = {
      log: (level, event, fields) => this.#log[level](event, fields),
      output: (job, line) => this.#output(prefixed(job, line)),
      threadLost: (job) => this.#threadLost(job),
    };
    const shared = { graceMs, completion };
    this.#inline = new InlineRunner({
      ...shared,
      standstillMs,
      jobs: () => this.#jobs(),
      log: this.#log,
      surroundings: {
        ...surroundings,
        call: (_job, request, signal) => this.#call(OWN_CODE, request, signal),
      },
    });
    this.#threads = new ThreadPool({
      ...shared,
      threads,
      jobsPerThread,
      surroundings: {
        ...surroundings,
        call: ({ kind }, request, signal) => this.#call({ ...OWN_CODE, kind }, request, signal),
        jobs: async (_job, order, tx) => await carryOut(order, this.#jobs(), tx),
      },
    });
    this.#hosts = new HostPool({
      ...shared,
      surroundings,
      call: (caller, request, signal) => this.#call(caller, request, signal),
      jobs: async (order, tx) => await carryOut(order, this.#jobs(), tx),
      hosts,
      threads,
      jobsPerThread,
      memoryWatchMs,
      idleMs: hostIdleMs,
      ...(options.config === undefined ? {} : { config: options.config }),
    });
  }

  start(options: ExecutorStart): void {
    this.#start = options;
  }

  async check(kinds: readonly Kind[]): Promise<string[]> {
    const faults = await Promise.all(kinds.map(async (kind) => {
      if (typeof kind.handler === "function") return null;
      const module = moduleSpecifier(kind.handler);
      const fault = belongsToHost(kind)
        ? await this.#hosts.check(module, confinementOf(kind, module))
        : await this.#threads.check(module);
      return fault === null
        ? null
        : `kind ${JSON.stringify(kind.name)}: its handler module ${kind.handler} does not load: ${fault}`;
    }));
    const found = faults.filter((fault) => fault !== null);
    if (found.length === 0) await this.#threads.warm(threadModules(kinds));
    return found;
  }

  run(attempt: Attempt, observer: AttemptObserver): number {
    if (this.#stopped) {
      observer.ended({ type: "released", reason: "the executor has stopped", alone: attempt.alone });
      return -1;
    }
    const { kind } = attempt;
    const watched = new UnthrowingObserver(observer, attempt, this.#observerThrew);
    if (typeof kind.handler === "function") {
      return this.#inline.run(attempt, kind.handler, watched) * PLACES + PLACE.inline;
    }
    const work: Work = {
      id: attempt.id,
      run: attempt.run,
      kind: kind.name,
      queue: attempt.queue,
      attempt: attempt.attempt,
      maxAttempts: attempt.maxAttempts,
      timeoutMs: kind.timeout,
      module: this.#moduleOf(kind.handler),
      args: attempt.args,
      ownThread: kind.ownThread === true,
      plain: false,
    };
    if (attempt.alone || belongsToHost(kind)) {
      const confinement = { ...confinementOf(kind, work.module), alone: attempt.alone };
      return this.#hosts.run(work, confinement, watched) * PLACES + PLACE.hosts;
    }
    return this.#threads.run(work, watched) * PLACES + PLACE.threads;
  }

  abort(key: number, reason: AbortReason): void {
    const own = Math.floor(key / PLACES);
    if (key % PLACES === PLACE.inline) this.#inline.abort(own, reason);
    else if (key % PLACES === PLACE.threads) this.#threads.abort(own, reason);
    else if (key % PLACES === PLACE.hosts) this.#hosts.abort(own, reason);
  }

  // deno-lint-ignore require-await -- what is wrong with the options rejects, and never throws
  async call(module: string | URL, input: JsonInput, options?: CallOptions): Promise<Json> {
    return this.#call(OWN_CODE, { module: String(module), input, options }, null);
  }

  room(): number {
    return this.#stopped ? 0 : this.#threads.room;
  }

  stats(): ExecutorStats {
    return {
      threads: this.#threads.threads,
      hosts: this.#hosts.hosts,
      lostThreads: this.#threads.lost,
      running: this.#inline.running + this.#threads.running + this.#hosts.running,
    };
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#inline.stop();
    this.#threads.stop();
    await this.#hosts.stop();
  }

  #jobs(): Jobs {
    const jobs = this.#start?.jobs;
    if (jobs !== undefined) return jobs;
    throw new RuntimeStateError("Cannot use ctx.jobs: this executor was started without jobs");
  }

  async #call(caller: Caller, request: CallRequest, signal: AbortSignal | null): Promise<Json> {
    if (this.#stopped) throw new Error(`Cannot call ${request.module}: the executor has stopped`);
    return await callModule(this.#hosts, caller, request, signal);
  }

  // A relative path is resolved once, so that a later change of the working directory changes nothing.
  #modules = new Map<string | URL, string>();
  #moduleOf(handler: string | URL): string {
    let module = this.#modules.get(handler);
    if (module === undefined) {
      module = moduleSpecifier(handler);
      this.#modules.set(handler, module);
    }
    return module;
  }

  #observerThrew = (attempt: Attempt, thrown: unknown): void => {
    this.#log.error("what was told of an attempt was not taken", {
      kind: attempt.kind.name,
      jobId: attempt.id,
      error: describeError(thrown).message,
    });
  };

  #threadLost(job: JobName): void {
    const lost = this.#threads.lost;
    this.#log.error("a thread could not be ended and burns a core for as long as the process lives", {
      kind: job.kind,
      jobId: job.id,
      lost,
    });
    const tell = unthrowing(
      (start: ExecutorStart) => start.onThreadLost({ kind: job.kind, jobId: job.id, lost }),
      (thrown) => this.#log.error("onThreadLost threw", { error: describeError(thrown).message }),
    );
    if (this.#start !== null) tell(this.#start);
  }
}

/** A caller that may do what this process may. */
const OWN_CODE: Caller = { kind: null, module: null, permissions: undefined };

function confinementOf(kind: Kind, module: string): Confinement {
  const { permissions, memory } = kind;
  return {
    realm: belongsToHost(kind) ? { type: "kind", kind: kind.name } : { type: "threads" },
    ...(permissions === undefined ? {} : { permissions }),
    ...(memory === undefined ? {} : { memory }),
    // What may do everything may read every module.
    code: { modules: permissions === undefined ? [] : [module] },
  };
}

/** The handler modules that run in threads, each once. */
function threadModules(kinds: readonly Kind[]): string[] {
  const modules = kinds.flatMap((kind) =>
    typeof kind.handler === "function" || belongsToHost(kind) ? [] : [moduleSpecifier(kind.handler)]
  );
  return [...new Set(modules)];
}

function belongsToHost(kind: Kind): boolean {
  return kind.isolation === "process" || kind.permissions !== undefined || kind.memory !== undefined;
}

function prefixed(job: JobName, line: string): string {
  const name = job.kind === "" ? "a handler" : job.id === "" ? job.kind : `${job.kind} ${job.id}`;
  return `[${name}] ${line}`;
}
