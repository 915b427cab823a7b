import {
  type AttemptOutcome,
  type CallOptions,
  DELAY_MS_MAX,
  InvalidOptionError,
  type Json,
  type Permissions,
} from "../../ports/mod.ts";
import { describeError } from "../describe_error.ts";
import { type AbortCause, timedOut } from "../outcome.ts";
import { Sweep } from "../sweep.ts";
import { RestartLimit } from "../threads/restart_limit.ts";
import type { JobName, Work, WorkObserver, WorkSurroundings } from "../work.ts";
import { callWork } from "./call_work.ts";
import { findConfigFile } from "./config_file.ts";
import {
  HOST_MAIN,
  type HostDeath,
  HostProcess,
  type HostTask,
  type Loaded,
  THREAD_MAIN,
} from "./host_process.ts";
import { ModuleCodeFinder } from "./module_code.ts";
import { environment, permissionFlags } from "./permission_flags.ts";
import { outcomeOfDeath } from "./outcome_of_death.ts";
import { residentMemory } from "./resident_memory.ts";
import { SilenceWatch } from "./silence_watch.ts";
import { TaskLine } from "./task_line.ts";

/** How host processes work. */
export interface HostPoolOptions {
  /** Threads in a host process that several attempts share. */
  readonly threads: number;
  /** Attempts per thread. */
  readonly jobsPerThread: number;
  /** The grace, in ms. */
  readonly graceMs: number;
  /** The statement of `completeIn`; null where there is none. */
  readonly completion: string | null;
  /** How often resident memory is looked at, in ms. */
  readonly memoryWatchMs: number;
  /** How long a process is kept without work, in ms. */
  readonly idleMs: number;
  /** The configuration file; found when absent. */
  readonly config?: string;
  /** What handlers do beside ending. */
  readonly surroundings: WorkSurroundings;
}

/** What decides which process an attempt runs in. */
export interface Confinement {
  /** What the process may do; everything when absent. */
  readonly permissions?: Permissions;
  /** Above how many bytes it is killed; one attempt at a time then. */
  readonly memory?: number;
  /** It may have killed a process: nothing runs beside it, and before it in its process only attempts of this sort. */
  readonly alone?: boolean;
}

interface Task extends HostTask {
  readonly confinement: Confinement;
  host: HostProcess | null;
}

/** Processes that are alike: same permissions, same cap. */
interface Group {
  readonly name: string;
  readonly permissions: Permissions | undefined;
  readonly memory: number | undefined;
  /** The handler modules seen so far, whose code its processes may read. */
  readonly modules: Set<string>;
  /** The processes that take attempts, with what they may read. */
  readonly hosts: Map<HostProcess, ReadonlySet<string>>;
}

const SWEEP_MS = 50;
/** How many processes of one attempt each there are at once, for each thread of the executor. */
const SINGLE_PER_THREAD = 2;
/** How long the others in a process with a lost thread have to end, in ms. */
const RECYCLE_MS = 5000;
const PING_MS = 5000;
const SILENT_MS_MAX = 30_000;
const CHECK_MS_MAX = 35_000;
/** How often a module is loaded in all while its processes are killed. */
const CHECKS_MAX = 3;
const CALL_TIMEOUT_MS = 30_000;
/** How many attempts that run alone one process takes, one after the other: what they leave behind is soon gone. */
const ALONE_MAX = 20;
/** How long a process for such attempts is kept without one, in ms: they come in bursts, and seldom. */
const ALONE_IDLE_MS = 2000;
/** Above how much memory it is not kept for the next one, in bytes. */
const ALONE_LEAN_BYTES = 256 * 1024 * 1024;
/** Up to which share of its cap an idle process is kept for the next job. */
const LEAN_SHARE = 0.5;
const MEBIBYTE = 1024 * 1024;

/** Runs work in host processes, grouped by their permissions and memory cap, and kills them when they must be. */
export class HostPool {
  #options: HostPoolOptions;
  #config: string | null | undefined;
  #finder: ModuleCodeFinder | undefined;
  #groups = new Map<string, Group>();
  #groupOf = new Map<HostProcess, Group>();
  #single = new Set<HostProcess>();
  /** Of these, those for attempts that run alone, with how many each has had. */
  #alone = new Map<HostProcess, number>();
  #tasks = new Map<number, Task>();
  #waiting = new TaskLine<Task>();
  /** Processes whose memory is being read after a job of theirs. */
  #looking = new Map<HostProcess, Promise<void>>();
  #keys = 0;
  #limit = new RestartLimit();
  #sweep: Sweep = new Sweep(SWEEP_MS, () => this.#look());
  #silence = new SilenceWatch();
  #memoryLookedAt = 0;
  #stopped = false;

  /** Makes the pool. No process is started yet. */
  constructor(options: HostPoolOptions) {
    this.#options = options;
  }

  /** How many processes there are. */
  get hosts(): number {
    return this.#groupOf.size;
  }

  /** Attempts and calls that have not ended. */
  get running(): number {
    return this.#tasks.size;
  }

  /** Runs one attempt. Returns a key for {@linkcode HostPool.abort}. */
  run(work: Work, confinement: Confinement, observer: WorkObserver): number {
    const key = ++this.#keys;
    const task: Task = { key, work, observer, confinement, host: null };
    this.#tasks.set(key, task);
    this.#place(task);
    return key;
  }

  /** Aborts the signal of an attempt, and ends it after the grace. One that has not started ends at once. */
  abort(key: number, cause: AbortCause): void {
    const task = this.#tasks.get(key);
    if (task === undefined) return;
    if (task.host !== null) return task.host.abort(key, cause);
    this.#end(
      task,
      cause === "timeout" ? timedOut(task.work.timeoutMs, "it was never started") : {
        type: "released",
        reason: `told to end (${cause}) before it started`,
        alone: task.confinement.alone === true,
      },
    );
  }

  /**
   * Loads a handler module where it would run. Resolves to what is wrong with it, or null. A process that somebody kills
   * meanwhile says nothing about the module, so it is loaded again; one that kills its own is found out all the same.
   */
  async check(module: string, confinement: Confinement): Promise<string | null> {
    for (let times = 1;; times++) {
      const { fault, killed } = await this.#checkOnce(module, confinement);
      if (!killed || times === CHECKS_MAX || this.#stopped) return fault;
    }
  }

  async #checkOnce(module: string, confinement: Confinement): Promise<Loaded> {
    const group = this.#group(confinement);
    let host: HostProcess | undefined;
    try {
      host = await this.#hostFor(group, module, isSingle(confinement), false, "all");
    } catch (error) {
      return { fault: `Cannot start a host process: ${describeError(error).message}`, killed: false };
    }
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<Loaded>((resolve) => {
      const fault = `it did not load within ${CHECK_MS_MAX} ms`;
      timer = setTimeout(() => resolve({ fault, killed: false }), CHECK_MS_MAX);
    });
    try {
      const checked = host!.check(module);
      host!.reserved = false;
      return await Promise.race([checked, late]);
    } finally {
      clearTimeout(timer);
      this.#sweep.arm();
    }
  }

  /** Runs the default export of a module on plain input. */
  async call(module: string, input: Json, options: CallOptions = {}): Promise<Json> {
    const timeoutMs = options.timeout ?? CALL_TIMEOUT_MS;
    if (!(timeoutMs > 0 && timeoutMs <= DELAY_MS_MAX)) {
      throw new InvalidOptionError("timeout", timeoutMs, `ms above 0 and at most ${DELAY_MS_MAX}`);
    }
    const work = callWork(module, input, timeoutMs);
    const confinement: Confinement = { permissions: options.permissions ?? {} };
    let outcome = await this.#outcome(work, confinement);
    // It shared a process with what killed it; it has no side that could not be done twice, so it is done again.
    if (outcome.type === "released" && outcome.alone) {
      outcome = await this.#outcome(work, { ...confinement, alone: true });
    }
    switch (outcome.type) {
      case "completed":
        return outcome.output === null ? null : JSON.parse(outcome.output);
      case "failed":
        throw new Error(`Cannot call ${module}: ${outcome.message}`);
      case "released":
      case "discarded":
        throw new Error(`Cannot call ${module}: ${outcome.reason}`);
      case "snoozed":
        throw new Error(`Cannot call ${module}: a called module can't snooze`);
    }
  }

  /** Releases what still runs, then kills every process and waits for their ends. Idempotent. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#sweep.stop();
    this.#waiting.clear();
    for (const task of [...this.#tasks.values()]) {
      task.host?.tasks.delete(task.key);
      this.#end(task, {
        type: "released",
        reason: "the executor stopped",
        alone: task.confinement.alone === true,
      });
    }
    const hosts = [...this.#groupOf.keys()];
    for (const host of hosts) host.kill("stop");
    await Promise.all(hosts.map((host) => host.ended));
  }

  #outcome(work: Work, confinement: Confinement): Promise<AttemptOutcome> {
    return new Promise((resolve) => {
      this.run(work, confinement, { progress: () => {}, ended: resolve });
    });
  }

  #place(task: Task): void {
    this.#tryToPlace(task).catch((error) => {
      const message = `Cannot start a host process: ${describeError(error).message}`;
      this.#end(task, { type: "failed", class: "crash", message });
    });
  }

  async #tryToPlace(task: Task): Promise<void> {
    const { confinement, work } = task;
    const alone = confinement.alone === true;
    const single = isSingle(confinement);
    // Whoever calls a module waits for it in a place of its own: the call must not wait for that place.
    const forced = work.plain ? "bound" : "no";
    const host = await this.#hostFor(this.#group(confinement), work.module, single, alone, forced);
    if (host !== undefined) host.reserved = false;
    if (!this.#tasks.has(task.key)) {
      return;
    }
    if (host === undefined) {
      this.#waiting.add(task);
    } else {
      task.host = host;
      if (alone) this.#alone.set(host, this.#alone.get(host)! + 1);
      host.run({
        key: task.key,
        work: task.work,
        observer: {
          progress: (done, note) => task.observer.progress(done, note),
          ended: (outcome) => this.#end(task, outcome),
        },
      });
    }
    this.#sweep.arm();
  }

  #placeWaiting(): void {
    if (this.#stopped || this.#waiting.size === 0 || this.#limit.waitMs(performance.now()) > 0) return;
    // Thousands may wait. No more are tried than there are places, so that each look costs little.
    let places = this.#singleMax - this.#single.size;
    for (const host of this.#single) if (this.#isFree(host)) places++;
    const next = this.#waiting.take(({ key, confinement }) =>
      !this.#tasks.has(key) || !isSingle(confinement) || places-- > 0
    );
    for (const task of next) if (this.#tasks.has(task.key)) this.#place(task);
  }

  get #singleMax(): number {
    return this.#options.threads * SINGLE_PER_THREAD;
  }

  #isFree(host: HostProcess): boolean {
    return host.tasks.size === 0 && !host.isChecking && !host.reserved && !host.retiring;
  }

  /** Another group's process that has nothing to do makes room. What waits is placed when it has ended. */
  #endIdleSingle(): void {
    for (const host of this.#single) if (this.#isFree(host)) return host.kill("idle");
  }

  #end(task: Task, outcome: AttemptOutcome): void {
    if (this.#tasks.delete(task.key)) task.observer.ended(outcome);
  }

  #group(confinement: Confinement): Group {
    const { permissions, memory } = confinement;
    const name = JSON.stringify([permissions ?? null, memory ?? null]);
    let group = this.#groups.get(name);
    if (group === undefined) {
      group = { name, permissions, memory, modules: new Set(), hosts: new Map() };
      this.#groups.set(name, group);
    }
    return group;
  }

  /** A process for the module. Undefined while none may be started, unless that is `forced`: the bound, or all. */
  async #hostFor(
    group: Group,
    module: string,
    single: boolean,
    alone: boolean,
    forced: "no" | "bound" | "all",
  ): Promise<HostProcess | undefined> {
    // Its own path is what would be started again: the program and not Deno, over and over.
    if (Deno.build.standalone) throw new Error("a compiled program has no Deno to start");
    group.modules.add(module);
    const modules = new Set(group.modules);
    const code = group.permissions === undefined
      ? { paths: [], hosts: [] }
      : await this.#codeFinder().find([HOST_MAIN.href, THREAD_MAIN.href, ...modules]);
    if (single) await Promise.all(this.#looking.values());
    if (this.#stopped) throw new Error("the executor has stopped");
    for (const [host, readable] of group.hosts) {
      if (host.retiring || this.#single.has(host) !== single || this.#alone.has(host) !== alone) continue;
      if (single && (host.tasks.size > 0 || host.isChecking || host.reserved)) continue;
      if (group.permissions === undefined || readable.has(module)) {
        host.reserved = single;
        return host;
      }
      // It may not read this module's code. A new process that may takes its place.
      host.retiring = true;
    }
    if (forced !== "all" && this.#limit.waitMs(performance.now()) > 0) return undefined;
    if (forced === "no" && single && this.#single.size >= this.#singleMax) {
      this.#endIdleSingle();
      return undefined;
    }
    const host = this.#startHost(group, permissionFlags(group.permissions, code), single, alone);
    group.hosts.set(host, modules);
    host.reserved = single;
    return host;
  }

  #startHost(group: Group, permissions: readonly string[], single: boolean, alone: boolean): HostProcess {
    const { threads, jobsPerThread, graceMs, completion, surroundings } = this.#options;
    const config = this.#configFile();
    const flags = [...permissions, ...(config === null ? ["--no-config"] : ["--config", config])];
    if (group.memory !== undefined) {
      flags.push(`--v8-flags=--max-old-space-size=${Math.max(1, Math.floor(group.memory / MEBIBYTE))}`);
    }
    const setup = { threads: single ? 1 : threads, jobsPerThread, graceMs, completion };
    const host: HostProcess = new HostProcess({
      flags,
      environment: environment(group.permissions, readVariable),
      setup,
      surroundings,
    }, {
      died: (host, death) => this.#died(host, death),
      ended: (host) => this.#taskEnded(host),
      threadLost: (host, job) => this.#threadLost(host, job),
    });
    this.#groupOf.set(host, group);
    if (single) this.#single.add(host);
    if (alone) this.#alone.set(host, 0);
    this.#sweep.arm();
    return host;
  }

  #taskEnded(host: HostProcess): void {
    if (host.tasks.size > 0) return;
    if (host.retiring || this.#alone.get(host) === ALONE_MAX) host.kill("idle");
    else if (this.#alone.has(host) || this.#groupOf.get(host)?.memory !== undefined) {
      this.#looking.set(host, this.#freeIfLean(host));
    }
  }

  // What the last job left behind is not to be charged to the next one.
  async #freeIfLean(host: HostProcess): Promise<void> {
    host.reserved = true;
    const cap = this.#groupOf.get(host)?.memory ?? Infinity;
    const lean = Math.min(cap * LEAN_SHARE, this.#alone.has(host) ? ALONE_LEAN_BYTES : Infinity);
    const bytes = await residentMemory(host.pid);
    host.reserved = false;
    this.#looking.delete(host);
    if (bytes === null || bytes > lean) host.kill("idle");
    this.#placeWaiting();
  }

  // The thread's core is freed by the end of its process. The others in it get a while to end by themselves.
  #threadLost(host: HostProcess, job: JobName): void {
    this.#options.surroundings.log(
      "warn",
      "a thread of a host process could not be ended: the process is ended",
      {
        kind: job.kind,
        jobId: job.id,
        pid: host.pid,
      },
    );
    host.retiring = true;
    if (host.tasks.size === 0) host.kill("recycle");
    else if (host.killAt === 0) host.killAt = performance.now() + RECYCLE_MS;
    this.#sweep.arm();
  }

  #died(host: HostProcess, death: HostDeath): void {
    const group = this.#groupOf.get(host);
    const single = this.#single.has(host);
    group?.hosts.delete(host);
    this.#groupOf.delete(host);
    this.#single.delete(host);
    this.#alone.delete(host);
    if (!death.wasReady && death.killed === null) this.#limit.died(performance.now());
    if (death.killed === null) {
      this.#options.surroundings.log("error", "a host process died", { pid: host.pid, error: death.message });
    }
    for (const { key } of [...host.tasks.values()]) {
      const task = this.#tasks.get(key);
      if (task === undefined) continue;
      const placement = { single, alone: task.confinement.alone === true, memory: group?.memory };
      this.#end(task, outcomeOfDeath(death, placement));
    }
    host.tasks.clear();
    this.#placeWaiting();
  }

  #look(): boolean {
    const now = performance.now();
    this.#silence.look(now);
    const watchesMemory = now - this.#memoryLookedAt >= this.#options.memoryWatchMs;
    if (watchesMemory) this.#memoryLookedAt = now;
    for (const [host, group] of [...this.#groupOf]) {
      const idle = host.tasks.size === 0 && !host.isChecking && !host.reserved;
      if (host.killAt > 0 && now >= host.killAt) host.kill("recycle");
      else if (idle && (host.retiring || now - host.idleSince > this.#idleMs(host))) host.kill("idle");
      else if (this.#silence.silentMs(host.heardAt) > SILENT_MS_MAX) host.kill("silent");
      else if (this.#silence.silentMs(host.heardAt) > PING_MS) host.ping();
      if (watchesMemory && group.memory !== undefined) this.#watchMemory(host, group.memory);
    }
    this.#placeWaiting();
    return this.#groupOf.size > 0 || this.#waiting.size > 0;
  }

  #idleMs(host: HostProcess): number {
    const { idleMs } = this.#options;
    return this.#alone.has(host) ? Math.min(idleMs, ALONE_IDLE_MS) : idleMs;
  }

  async #watchMemory(host: HostProcess, cap: number): Promise<void> {
    const bytes = await residentMemory(host.pid);
    if (bytes === null) return;
    if (bytes > cap) host.kill("memory");
    else if (host.tasks.size === 0 && bytes > cap * LEAN_SHARE) host.retiring = true;
  }

  #configFile(): string | null {
    if (this.#config === undefined) this.#config = this.#options.config ?? findConfigFile();
    return this.#config;
  }

  #codeFinder(): ModuleCodeFinder {
    return this.#finder ??= new ModuleCodeFinder(this.#configFile());
  }
}

// Its process has no other attempt beside it.
function isSingle({ alone, memory }: Confinement): boolean {
  return alone === true || memory !== undefined;
}

function readVariable(name: string): string | undefined {
  try {
    return Deno.env.get(name);
  } catch {
    // This process may not read it, so it has none to hand on.
    return undefined;
  }
}
