import { fileURLToPath } from "node:url";
import type { AttemptOutcome } from "../../ports/executor.ts";
import type { Json } from "../../ports/json.ts";
import type { LogFields, LogLevel } from "../../ports/log.ts";
import type { Tx } from "../../ports/tx.ts";
import { boundedFields, cutText, fieldsLength, LINE_MAX, LOG_TEXT_MAX } from "../bounds.ts";
import { describeError, keepableText } from "../describe_error.ts";
import type { JobOrder } from "../jobs/job_order.ts";
import type { AbortCause } from "../outcome.ts";
import { OutputLimit } from "../output_limit.ts";
import { UNSTABLE_FLAGS } from "../unstable_flags.ts";
import type { CallRequest, JobName, WorkSurroundings } from "../work.ts";
import { CallsOfHost } from "./calls_of_host.ts";
import { encodeFrames, type LineBounds, readLines } from "./frames.ts";
import { FRAME_BYTES_MAX, hostReport, takenOutcome } from "./host_report.ts";
import type { HostTask } from "./host_task.ts";
import { PacedReader } from "./paced_reader.ts";
import type { HostCommand, HostReport, HostSetup } from "./protocol.ts";

/** Where the host process's side begins. */
export const HOST_MAIN: URL = new URL("./host_main.ts", import.meta.url);
/** Where the threads in it begin. */
export const THREAD_MAIN: URL = new URL("../threads/thread_main.ts", import.meta.url);

/** How a host process is started. */
export interface HostStart {
  /** The flags of `deno run`. */
  readonly flags: readonly string[];
  /** Its whole environment; null for this process's. */
  readonly environment: Record<string, string> | null;
  /** What it is told first. */
  readonly setup: Omit<HostSetup, "token">;
  /** The kind that it runs jobs of; empty when several share it. */
  readonly kind: string;
  /** What its handlers do beside ending. */
  readonly surroundings: Omit<WorkSurroundings, "call" | "jobs">;
}

/** What became of loading a module. */
export interface Loaded {
  /** What is wrong, for people; null when it loaded. */
  readonly fault: string | null;
  /** Somebody killed the process before it could say: that need not be the module's fault. */
  readonly killed: boolean;
}

/** Why a host process was killed by this side. */
export type KillReason = "memory" | "recycle" | "silent" | "garbled" | "stop" | "idle";

/** How a host process ended. */
export interface HostDeath {
  /** Why it was killed; null when it died by itself. */
  readonly killed: KillReason | null;
  /** Whether it ever answered. */
  readonly wasReady: boolean;
  /** Whether V8 ended it for lack of memory. */
  readonly outOfMemory: boolean;
  /** For people. */
  readonly message: string;
}

/** Told of a host process. */
export interface HostObserver {
  /** It has ended, and all that it had told was read. Its attempts are still in `tasks`. */
  died(host: HostProcess, death: HostDeath): void;
  /** An attempt has ended. */
  ended(host: HostProcess): void;
  /** A thread in it could not be ended. */
  threadLost(host: HostProcess, job: JobName): void;
  /** An attempt in it calls a module. */
  call(host: HostProcess, task: HostTask, request: CallRequest, signal: AbortSignal): Promise<Json>;
  /** An attempt in it has an order for the queue. */
  jobs(host: HostProcess, task: HostTask, order: JobOrder, tx: Tx | null): Promise<Json>;
}

const STDERR_KEPT = 4096;
/** How many ids of jobs are remembered that a process may name: lines come late. */
const IDS_KEPT = 10_000;
/** How long what a dead process had written is read, in ms. */
const PIPES_MS = 500;

/** The main side of one host process. */
export class HostProcess {
  /** The attempts in it, by key. */
  readonly tasks: Map<number, HostTask> = new Map();
  /** Its process id. */
  readonly pid: number;
  /** Takes no more attempts, and is ended when it has none. */
  retiring = false;
  /** When it is killed whatever runs in it, in ms of `performance.now()`; 0 for never. */
  killAt = 0;
  /** How many attempts are on their way to it. */
  reserved = 0;
  /** How many attempts it was given. */
  taken = 0;
  /** Since when it takes no more attempts for others' sake, in ms of `performance.now()`; 0 when it does. */
  yieldsSince = 0;
  /** When it was started. */
  readonly startedAt: number = performance.now();
  /** Since when it has had no attempt. */
  idleSince: number = performance.now();
  /** When it last told anything. */
  heardAt: number = performance.now();
  /** Whether it answered once. */
  ready = false;
  #start: HostStart;
  #observer: HostObserver;
  #token: string = crypto.randomUUID();
  #child: Deno.ChildProcess;
  #stdout: PacedReader;
  #errors: PacedReader;
  #writer: WritableStreamDefaultWriter<Uint8Array<ArrayBuffer>>;
  #outbox: unknown[];
  #flushDue = false;
  #checks = new Map<number, (loaded: Loaded) => void>();
  #checkCount = 0;
  #calls: CallsOfHost;
  #killed: KillReason | null = null;
  /** The jobs whose ids it may name. */
  #ids = new Set<string>();
  #limit: OutputLimit;
  #spoilt: string | null = null;
  #stderr = "";
  #ended: Promise<void>;

  /** Starts the process. */
  constructor(start: HostStart, observer: HostObserver) {
    this.#start = start;
    this.#observer = observer;
    this.#limit = new OutputLimit((lines) => {
      start.surroundings.log(
        "warn",
        "lines that a host process printed or logged were dropped: they came too fast",
        {
          kind: this.#kind,
          pid: this.pid,
          lines,
        },
      );
    });
    this.#calls = new CallsOfHost({
      call: (task, request, signal) => observer.call(this, task, request, signal),
      jobs: (task, order, tx) => observer.jobs(this, task, order, tx),
      tell: (command) => this.#tell(command),
    });
    const main = HOST_MAIN.protocol === "file:" ? fileURLToPath(HOST_MAIN) : HOST_MAIN.href;
    this.#child = new Deno.Command(Deno.execPath(), {
      args: ["run", "--quiet", ...UNSTABLE_FLAGS, ...start.flags, main],
      stdin: "piped",
      stdout: "piped",
      stderr: "piped",
      ...(start.environment === null ? {} : { clearEnv: true, env: start.environment }),
    }).spawn();
    this.pid = this.#child.pid;
    this.#writer = this.#child.stdin.getWriter();
    this.#stdout = new PacedReader(this.#child.stdout.getReader({ mode: "byob" }));
    this.#errors = new PacedReader(this.#child.stderr.getReader({ mode: "byob" }));
    this.#outbox = [{ ...start.setup, token: this.#token } satisfies HostSetup];
    this.#scheduleFlush();
    this.#ended = this.#watch();
  }

  /** Resolves when the process has ended and everything about it was told. */
  get ended(): Promise<void> {
    return this.#ended;
  }

  /** Whether there are modules being checked in it. */
  get isChecking(): boolean {
    return this.#checks.size > 0;
  }

  /** Whether nothing runs in it or is on its way to it. */
  get isIdle(): boolean {
    return this.tasks.size === 0 && !this.isChecking && this.reserved === 0;
  }

  /** Whether it is idle, and may be given something. */
  get isFree(): boolean {
    return this.isIdle && !this.retiring;
  }

  /** Whether it was killed, and its end is on its way. */
  get isKilled(): boolean {
    return this.#killed !== null;
  }

  /** Gives it an attempt. */
  run(task: HostTask): void {
    this.tasks.set(task.key, task);
    this.#ids.add(task.work.id);
    if (this.#ids.size > IDS_KEPT) this.#ids.delete(this.#ids.values().next().value!);
    this.#tell(["run", task.key, task.work]);
  }

  /** Aborts an attempt's signal. */
  abort(key: number, cause: AbortCause): void {
    this.#calls.end(key);
    this.#tell(["abort", key, cause]);
  }

  /** Loads a module in it. */
  check(module: string): Promise<Loaded> {
    const check = ++this.#checkCount;
    return new Promise((resolve) => {
      this.#checks.set(check, resolve);
      this.#tell(["check", check, module]);
    });
  }

  /** Asks whether it is there. */
  ping(): void {
    this.#tell(["ping"]);
  }

  /** Kills it at once. */
  kill(reason: KillReason): void {
    this.#killed ??= reason;
    this.retiring = true;
    try {
      this.#child.kill("SIGKILL");
    } catch {
      // It has ended already.
    }
  }

  /** Kills it, for what it tells is not to be made use of. */
  #spoil(why: string): void {
    this.#spoilt ??= why;
    this.kill("garbled");
  }

  #tell(command: HostCommand): void {
    this.#outbox.push(command);
    this.#scheduleFlush();
  }

  #scheduleFlush(): void {
    if (this.#flushDue) return;
    this.#flushDue = true;
    queueMicrotask(() => {
      this.#flushDue = false;
      const frames = this.#outbox;
      this.#outbox = [];
      // A process that has died is found by its end, not by the pipe.
      this.#writer.write(encodeFrames(frames)).catch(() => {});
    });
  }

  async #watch(): Promise<void> {
    const unreadable = (error: unknown) =>
      this.#spoil(`what it told can't be read: ${describeError(error).message}`);
    const read = [this.#readStdout().catch(unreadable), this.#readStderr().catch(unreadable)];
    const status = await this.#child.status;
    // A program that a handler started may have inherited the pipes and keep them open for as long as it lives.
    let timer: ReturnType<typeof setTimeout> | undefined;
    await Promise.race([Promise.all(read), new Promise((resolve) => timer = setTimeout(resolve, PIPES_MS))]);
    clearTimeout(timer);
    // A read that is under way would keep this process from its end.
    for (const reader of [this.#stdout, this.#errors]) reader.cancel();
    this.#writer.close().catch(() => {});
    const how = status.signal === null ? `exit code ${status.code}` : status.signal;
    const said = this.#stderr.trim().split("\n").find((line) => /error|fatal/i.test(line)) ??
      this.#stderr.trim().split("\n").at(-1);
    const why = this.#spoilt ?? said?.trim();
    const message = `its host process ended (${how})${why ? `: ${why}` : ""}`;
    const outOfMemory = /out of memory|heap limit/i.test(this.#stderr);
    const killed = this.#killed === null && status.signal !== null && !outOfMemory;
    this.#calls.endAll();
    this.#limit.flush();
    for (const answer of this.#checks.values()) answer({ fault: message, killed });
    this.#checks.clear();
    this.#observer.died(this, { killed: this.#killed, wasReady: this.ready, outOfMemory, message });
  }

  async #readStdout(): Promise<void> {
    const bounds: LineBounds = {
      lineBytesMax: LINE_MAX,
      takes: (length) => this.#limit.passes(length),
      token: this.#token,
      frameBytesMax: FRAME_BYTES_MAX,
    };
    for await (const lines of readLines(this.#stdout, bounds)) {
      this.heardAt = performance.now();
      for (const line of lines) {
        if (this.#spoilt !== null) return;
        if (!line.startsWith(this.#token)) {
          this.#printed(line);
          continue;
        }
        const report = hostReport(line.slice(this.#token.length));
        // Perhaps a program that a handler started wrote into the middle of a frame. What it said is lost.
        if (report === null) this.#spoil("a frame of it is no report");
        else this.#take(report);
      }
    }
  }

  async #readStderr(): Promise<void> {
    const bounds = { lineBytesMax: LINE_MAX, takes: (length: number) => this.#limit.passes(length) };
    for await (const lines of readLines(this.#errors, bounds)) {
      for (const line of lines) {
        // The first lines tell what happened, the stack traces of V8 after them do not.
        if (this.#stderr.length < STDERR_KEPT) this.#stderr += line.slice(0, 500) + "\n";
        this.#printed(line);
      }
    }
  }

  /** A line that went through the limit. */
  #printed(line: string): void {
    const only = this.tasks.size === 1 ? [...this.tasks.values()][0]!.work : undefined;
    this.#start.surroundings.output({ kind: this.#kind, id: only?.id ?? "" }, line);
  }

  /** A line of the log. It is this process that knows whose it is. */
  #log(level: LogLevel, event: string, fields: LogFields): void {
    const bounded = boundedFields(fields, true);
    const text = cutText(event, LOG_TEXT_MAX);
    if (!this.#limit.passes(fieldsLength(text, bounded))) return;
    this.#start.surroundings.log(level, text, {
      ...bounded,
      kind: this.#kind,
      jobId: this.#ownId(String(bounded["jobId"] ?? "")),
    });
  }

  /** The id of a job that runs in this process, or did not long ago; empty when it is another's. */
  #ownId(id: string): string {
    return this.#ids.has(id) ? id : "";
  }

  get #kind(): string {
    // Kinds that share this process's threads share a process for what runs alone, one attempt at a time.
    return this.#start.kind || [...this.tasks.values()][0]?.work.kind || "";
  }

  #take(report: HostReport): void {
    switch (report[0]) {
      case "ready":
        this.ready = true;
        break;
      case "ended":
        this.#endTask(report[1], report[2]);
        break;
      case "progress":
        this.tasks.get(report[1])?.observer.progress(
          report[2],
          report[3] === null ? undefined : keepableText(report[3]),
        );
        break;
      case "log":
        this.#log(report[1], report[2], report[3]);
        break;
      case "output":
        if (!this.#limit.passes(report[3].length)) break;
        this.#start.surroundings.output(
          { kind: this.#kind, id: this.#ownId(report[2]) },
          cutText(report[3], LINE_MAX),
        );
        break;
      case "checked":
        this.#checks.get(report[1])?.({
          fault: report[2] === null ? null : keepableText(report[2]),
          killed: false,
        });
        this.#checks.delete(report[1]);
        break;
      case "lost":
        this.#observer.threadLost(this, { kind: this.#kind, id: this.#ownId(report[2]) });
        break;
      case "call": {
        const [, key, call, module, input, options] = report;
        const request = { module, input, options: options ?? undefined };
        if (!this.#calls.take(call, this.tasks.get(key), request)) {
          this.#spoil("it made more calls than it may");
        }
        break;
      }
      case "jobs": {
        const [, key, call, order, isInTransaction] = report;
        if (!this.#calls.order(call, this.tasks.get(key), order, isInTransaction)) {
          this.#spoil("it had more orders carried out than it may");
        }
        break;
      }
      case "rows":
        this.#calls.rows(report[1], report[2], report[3]);
        break;
      case "endCall":
        this.#calls.endOne(report[1]);
        break;
      case "pong":
        break;
    }
  }

  #endTask(key: number, outcome: AttemptOutcome): void {
    const task = this.tasks.get(key);
    if (task === undefined) return;
    this.tasks.delete(key);
    this.#calls.end(key);
    if (this.tasks.size === 0) this.idleSince = performance.now();
    // Whoever is told may give the next attempt at once, and is not to find this process fit before it is.
    this.#observer.ended(this);
    task.observer.ended(takenOutcome(outcome, task.work.plain));
  }
}
