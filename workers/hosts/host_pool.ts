import type { AttemptOutcome } from "../../ports/executor.ts";
import type { Json } from "../../ports/json.ts";
import type { Completion } from "../../ports/store.ts";
import type { Tx } from "../../ports/tx.ts";
import { describeError } from "../describe_error.ts";
import { checkAllowed, type JobOrder } from "../jobs/job_order.ts";
import { type AbortCause, timedOut } from "../outcome.ts";
import { Sweep } from "../sweep.ts";
import { RestartLimit } from "../threads/restart_limit.ts";
import type { CallRequest, JobName, Work, WorkObserver, WorkSurroundings } from "../work.ts";
import type { Caller } from "./caller.ts";
import { findConfigFile } from "./config_file.ts";
import { type Confinement, type Group, type Line, newGroup, type Realm, realmName } from "./host_group.ts";
import { HostLines, YIELD_MS } from "./host_lines.ts";
import { HOST_MAIN, type HostDeath, HostProcess, type Loaded, THREAD_MAIN } from "./host_process.ts";
import type { HostTask } from "./host_task.ts";
import { type ModuleCode, ModuleCodeFinder, NO_CODE } from "./module_code.ts";
import { outcomeOfDeath } from "./outcome_of_death.ts";
import { environment, permissionFlags } from "./permission_flags.ts";
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
  /** The statements for handlers' own transactions; null where there are none. */
  readonly completion: Completion | null;
  /** How often resident memory is looked at, in ms. */
  readonly memoryWatchMs: number;
  /** How long a process is kept without work, in ms. */
  readonly idleMs: number;
  /** How many processes that attempts share there are at once; half as many for the calls of handlers, and for own ones. */
  readonly hosts: number;
  /** The configuration file; found when absent. */
  readonly config?: string;
  /** What handlers do beside ending. */
  readonly surroundings: Omit<WorkSurroundings, "call" | "jobs">;
  /** A handler in a process calls a module. */
  readonly call: (caller: Caller, request: CallRequest, signal: AbortSignal) => Promise<Json>;
  /** A handler in a process has an order for the queue, which is within its permissions. */
  readonly jobs: (order: JobOrder, tx: Tx | null) => Promise<Json>;
}

interface Task extends HostTask {
  readonly group: Group;
  /** When it came, in ms of `performance.now()`. */
  readonly cameAt: number;
  host: HostProcess | null;
}

const SWEEP_MS = 50;
/** How many processes of one attempt each there are at once, for each thread of the executor. */
const SINGLE_PER_THREAD = 2;
/** How long the others in a process with a lost thread have to end, in ms. */
const RECYCLE_MS = 5000;
const PING_MS = 5000;
const SILENT_MS_MAX = 30_000;
const CHECK_MS_MAX = 35_000;
/** After how long it is said that attempts wait for a place, and how often, in ms. */
const TELL_WAITING_MS = 5000;
const TELL_WAITING_AGAIN_MS = 60_000;
/** How often a module is loaded in all while its processes are killed. */
const CHECKS_MAX = 3;
/** How many attempts that run alone one process takes, one after the other: what they leave behind is soon gone. */
const ALONE_MAX = 20;
/** How long a process for such attempts is kept without one, in ms: they come in bursts, and seldom. */
const ALONE_IDLE_MS = 2000;
/** Above how much memory it is not kept for the next one, in bytes. */
const ALONE_LEAN_BYTES = 256 * 1024 * 1024;
/** Up to which share of its cap an idle process is kept for the next job. */
const LEAN_SHARE = 0.5;
const MEBIBYTE = 1024 * 1024;

/** Runs work in host processes, grouped by realm, permissions and memory cap, and kills them when they must be. */
export class HostPool {
  #options: HostPoolOptions;
  #config: string | null | undefined;
  #finder: ModuleCodeFinder | undefined;
  #lines: HostLines;
  #tasks = new Map<number, Task>();
  #waiting = new TaskLine<Task>();
  /** Processes whose memory is being read after a job of theirs. */
  #looking = new Map<HostProcess, Promise<void>>();
  #keys = 0;
  /** By realm: those whose processes don't even start slow down nobody else's. */
  #limits = new Map<string, RestartLimit>();
  #sweep: Sweep = new Sweep(SWEEP_MS, () => this.#look());
  #silence = new SilenceWatch();
  #memoryLookedAt = 0;
  #toldWaitingAt = -Infinity;
  #changed = Promise.withResolvers<void>();
  #stopped = false;

  /** Makes the pool. No process is started yet. */
  constructor(options: HostPoolOptions) {
    this.#options = options;
    const { hosts, threads } = options;
    const calls = Math.ceil(hosts / 2);
    this.#lines = new HostLines({ shared: hosts, single: threads * SINGLE_PER_THREAD, calls, own: calls });
  }

  /** How many processes there are. */
  get hosts(): number {
    return this.#lines.size;
  }

  /** Attempts and calls that have not ended. */
  get running(): number {
    return this.#tasks.size;
  }

  /** Finds the code of modules. */
  get finder(): ModuleCodeFinder {
    return this.#finder ??= new ModuleCodeFinder(this.#configFile());
  }

  /** Runs one attempt. Returns a key for {@linkcode HostPool.abort}. */
  run(work: Work, confinement: Confinement, observer: WorkObserver): number {
    const key = ++this.#keys;
    const group = newGroup(confinement);
    const task: Task = { key, work, observer, group, cameAt: performance.now(), host: null };
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
        alone: isAlone(task),
      },
    );
  }

  /**
   * Loads a handler module where it would run. Resolves to what is wrong with it, or null. A process that somebody kills
   * meanwhile says nothing about the module, so it is loaded again; one that kills its own is found out all the same.
   */
  async check(module: string, confinement: Confinement): Promise<string | null> {
    for (let times = 1;; times++) {
      const { fault, killed } = await this.#checkOnce(module, newGroup(confinement));
      if (!killed || times === CHECKS_MAX || this.#stopped) return fault;
    }
  }

  async #checkOnce(module: string, group: Group): Promise<Loaded> {
    let host: HostProcess | undefined;
    try {
      // It waits for a place, and for no pause of those that can't start: that is what is to be found out.
      while ((host = await this.#hostFor(group, { pausing: false })) === undefined) {
        await this.#changed.promise;
      }
    } catch (error) {
      return { fault: `Cannot start a host process: ${describeError(error).message}`, killed: false };
    }
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<Loaded>((resolve) => {
      const fault = `it did not load within ${CHECK_MS_MAX} ms`;
      timer = setTimeout(() => resolve({ fault, killed: false }), CHECK_MS_MAX);
    });
    try {
      const checked = host.check(module);
      host.reserved--;
      return await Promise.race([checked, late]);
    } finally {
      clearTimeout(timer);
      host.idleSince = performance.now();
      this.#sweep.arm();
    }
  }

  /** Releases what still runs, then kills every process and waits for their ends. Idempotent. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#sweep.stop();
    this.#waiting.clear();
    this.#tellChanged();
    for (const task of [...this.#tasks.values()]) {
      task.host?.tasks.delete(task.key);
      this.#end(task, { type: "released", reason: "the executor stopped", alone: isAlone(task) });
    }
    const hosts = this.#lines.entries().map(([host]) => host);
    for (const host of hosts) host.kill("stop");
    await Promise.all(hosts.map((host) => host.ended));
  }

  #place(task: Task): void {
    this.#tryToPlace(task).catch((error) => {
      const message = `Cannot start a host process: ${describeError(error).message}`;
      this.#end(task, { type: "failed", class: "crash", message });
    });
  }

  async #tryToPlace(task: Task): Promise<void> {
    const host = await this.#hostFor(task.group, { pausing: true });
    if (host !== undefined) host.reserved--;
    if (!this.#tasks.has(task.key)) return;
    if (host === undefined) {
      this.#waiting.add(task);
    } else {
      task.host = host;
      host.taken++;
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
    this.#tellChanged();
    if (this.#stopped || this.#waiting.size === 0) return;
    // Thousands may wait. No more are tried than there are places, so that each look costs little.
    const open = new Map<string, number>();
    const started = new Map<Line, number>();
    const next = this.#waiting.take((task) => {
      if (!this.#tasks.has(task.key)) return true;
      const { group } = task;
      let places = open.get(group.name);
      if (places === undefined) {
        const taken = started.get(group.line) ?? 0;
        places = this.#isPausing(group) ? 0 : this.#openPlaces(group, taken);
        if (places > 0) started.set(group.line, taken + 1);
        else if (!this.#isPausing(group)) this.#lines.makeRoom(group);
      }
      open.set(group.name, places - 1);
      return places > 0;
    });
    for (const task of next) if (this.#tasks.has(task.key)) this.#place(task);
  }

  /** How many of a group's attempts are worth a try. */
  #openPlaces(group: Group, taken: number): number {
    const usable = this.#lines.usable(group) !== undefined;
    if (!group.single) return usable || this.#lines.places(group) > taken ? Infinity : 0;
    return Math.max(usable ? 1 : 0, this.#lines.places(group) - taken);
  }

  #isPausing({ confinement: { realm } }: Group): boolean {
    return (this.#limits.get(realmName(realm))?.waitMs(performance.now()) ?? 0) > 0;
  }

  #end(task: Task, outcome: AttemptOutcome): void {
    if (this.#tasks.delete(task.key)) task.observer.ended(outcome);
  }

  /** A process for the group. Undefined while none may be started. */
  async #hostFor(group: Group, { pausing }: { pausing: boolean }): Promise<HostProcess | undefined> {
    // Its own path is what would be started again: the program and not Deno, over and over.
    if (Deno.build.standalone) throw new Error("a compiled program has no Deno to start");
    const code = await this.#codeOf(group.confinement);
    if (group.single) await Promise.all(this.#looking.values());
    if (this.#stopped) throw new Error("the executor has stopped");
    let host = this.#lines.usable(group);
    if (host === undefined) {
      if (pausing && this.#isPausing(group)) return undefined;
      if (this.#lines.places(group) === 0) {
        this.#lines.makeRoom(group);
        return undefined;
      }
      host = this.#startHost(group, code);
    }
    host.reserved++;
    return host;
  }

  async #codeOf({ permissions, code }: Confinement): Promise<ModuleCode> {
    if (permissions === undefined) return NO_CODE;
    const found = await this.finder.find([HOST_MAIN.href, THREAD_MAIN.href, ...code.modules]);
    return { ...found, paths: [...found.paths, ...(code.paths ?? [])] };
  }

  #startHost(group: Group, code: ModuleCode): HostProcess {
    const { threads, jobsPerThread, graceMs, completion, surroundings } = this.#options;
    const { permissions, memory, realm, code: { hosts: remote = [] } } = group.confinement;
    const config = this.#configFile();
    const flags = [
      ...permissionFlags(permissions, { ...code, remote, storage: realmName(realm) }),
      ...(config === null ? ["--no-config"] : ["--config", config]),
    ];
    if (memory !== undefined) {
      flags.push(`--v8-flags=--max-old-space-size=${Math.max(1, Math.floor(memory / MEBIBYTE))}`);
    }
    const setup = { threads: group.single ? 1 : threads, jobsPerThread, graceMs, completion };
    const host: HostProcess = new HostProcess({
      flags,
      environment: environment(permissions, readVariable),
      setup,
      kind: "kind" in realm ? realm.kind : "",
      surroundings,
    }, {
      died: (host, death) => this.#died(host, death),
      ended: (host) => this.#taskEnded(host),
      threadLost: (host, job) => this.#threadLost(host, job),
      call: (_host, { work }, request, signal) => this.#call(group.confinement, work, request, signal),
      jobs: (_host, { work }, order, tx) => this.#order(group.confinement, work, order, tx),
    });
    this.#lines.add(host, group);
    this.#sweep.arm();
    return host;
  }

  /** The process is believed in nothing: who calls follows from what it was started for. */
  async #call(
    { realm, permissions }: Confinement,
    work: Work,
    request: CallRequest,
    signal: AbortSignal,
  ): Promise<Json> {
    if (realm.type === "calls" || realm.type === "own") {
      throw new Error("A called module can't call another one");
    }
    return await this.#options.call({ kind: work.kind, module: work.module, permissions }, request, signal);
  }

  /** As for a call: whose order it is, and what that one may, is known here. */
  async #order(
    { realm, permissions }: Confinement,
    work: Work,
    order: JobOrder,
    tx: Tx | null,
  ): Promise<Json> {
    if (realm.type === "calls" || realm.type === "own") throw new Error("A called module has no jobs");
    checkAllowed(work.kind, permissions, order);
    return await this.#options.jobs(order, tx);
  }

  #taskEnded(host: HostProcess): void {
    if (host.tasks.size > 0) return;
    const group = this.#lines.groupOf(host);
    const alone = group?.confinement.alone === true;
    if (host.retiring || host.yieldsSince > 0 || alone && host.taken >= ALONE_MAX) host.kill("idle");
    else if (alone || group?.confinement.memory !== undefined) {
      this.#looking.set(host, this.#freeIfLean(host));
    }
  }

  // What the last job left behind is not to be charged to the next one.
  async #freeIfLean(host: HostProcess): Promise<void> {
    host.reserved++;
    const { memory = Infinity, alone } = this.#lines.groupOf(host)!.confinement;
    const lean = Math.min(memory * LEAN_SHARE, alone === true ? ALONE_LEAN_BYTES : Infinity);
    const bytes = await residentMemory(host.pid);
    host.reserved--;
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
    const group = this.#lines.remove(host);
    if (!death.wasReady && death.killed === null && group !== undefined) {
      this.#limitOf(group.confinement.realm).died(performance.now());
    }
    if (death.killed === null || death.killed === "garbled") {
      this.#options.surroundings.log("error", "a host process died", { pid: host.pid, error: death.message });
    }
    for (const { key } of [...host.tasks.values()]) {
      const task = this.#tasks.get(key);
      if (task === undefined) continue;
      const { single, confinement: { memory } } = task.group;
      this.#end(task, outcomeOfDeath(death, { single, alone: isAlone(task), memory }));
    }
    host.tasks.clear();
    this.#placeWaiting();
  }

  #limitOf(realm: Realm): RestartLimit {
    const name = realmName(realm);
    let limit = this.#limits.get(name);
    if (limit === undefined) this.#limits.set(name, limit = new RestartLimit());
    return limit;
  }

  #look(): boolean {
    const now = performance.now();
    this.#silence.look(now);
    const watchesMemory = now - this.#memoryLookedAt >= this.#options.memoryWatchMs;
    if (watchesMemory) this.#memoryLookedAt = now;
    this.#makeYield(now);
    for (const [host, { confinement: { memory, alone } }] of this.#lines.entries()) {
      const leaves = host.retiring || host.yieldsSince > 0;
      if (host.killAt > 0 && now >= host.killAt) host.kill("recycle");
      else if (host.isIdle && (leaves || now - host.idleSince > this.#idleMs(alone))) host.kill("idle");
      else if (this.#silence.silentMs(host.heardAt) > SILENT_MS_MAX) host.kill("silent");
      else if (this.#silence.silentMs(host.heardAt) > PING_MS) host.ping();
      if (watchesMemory && memory !== undefined) this.#watchMemory(host, memory);
    }
    this.#placeWaiting();
    return this.#lines.size > 0 || this.#waiting.size > 0;
  }

  /** Processes with one attempt each are free again when it ends; those that are shared may never be idle. */
  #makeYield(now: number): void {
    const first = new Map<Line, Task>();
    for (const task of this.#waiting) {
      const { line } = task.group;
      if (!first.has(line) && this.#tasks.has(task.key) && !this.#isPausing(task.group)) {
        first.set(line, task);
      }
    }
    for (const line of ["shared", "calls", "own"] as const) {
      const task = first.get(line);
      if (task === undefined) this.#lines.endYielding(line);
      else if (now - task.cameAt >= YIELD_MS) {
        this.#lines.makeYield(task.group, now);
        this.#tellWaiting(task, now);
      }
    }
  }

  #tellWaiting({ group: { confinement: { realm }, line }, cameAt }: Task, now: number): void {
    if (now - cameAt < TELL_WAITING_MS || now - this.#toldWaitingAt < TELL_WAITING_AGAIN_MS) return;
    this.#toldWaitingAt = now;
    this.#options.surroundings.log(
      "warn",
      "attempts wait for a place for their host process: more kinds are busy than hosts allows, raise it",
      {
        kind: "kind" in realm ? realm.kind : null,
        line,
        waitedMs: Math.round(now - cameAt),
        waiting: this.#waiting.size,
        hosts: this.#options.hosts,
      },
    );
  }

  #idleMs(alone: boolean | undefined): number {
    const { idleMs } = this.#options;
    return alone === true ? Math.min(idleMs, ALONE_IDLE_MS) : idleMs;
  }

  async #watchMemory(host: HostProcess, cap: number): Promise<void> {
    const bytes = await residentMemory(host.pid);
    if (bytes === null) return;
    if (bytes > cap) host.kill("memory");
    else if (host.tasks.size === 0 && bytes > cap * LEAN_SHARE) host.retiring = true;
  }

  #tellChanged(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }

  #configFile(): string | null {
    if (this.#config === undefined) this.#config = this.#options.config ?? findConfigFile();
    return this.#config;
  }
}

function isAlone({ group: { confinement } }: Task): boolean {
  return confinement.alone === true;
}

function readVariable(name: string): string | undefined {
  try {
    return Deno.env.get(name);
  } catch {
    // This process may not read it, so it has none to hand on.
    return undefined;
  }
}
