import { AssertionError } from "@std/assert";

/** A line of a program's log. */
export interface LogLine {
  /** What happened. */
  readonly event: string;
  /** The other fields. */
  readonly [field: string]: unknown;
}

/** How a program is started. */
export interface ProgramOptions {
  /** Added to the environment. An empty text counts as not set. */
  readonly env?: Readonly<Record<string, string>>;
  /** The working directory. Default this repository. */
  readonly cwd?: string;
  /** What it may do, as flags of Deno. Default everything. */
  readonly permissions?: readonly string[];
  /** Who runs it. Default oneself. */
  readonly user?: { readonly uid: number; readonly gid: number };
  /** In a process group of its own, as a terminal would run it. Default false. */
  readonly group?: boolean;
}

const root = new URL("../../", import.meta.url);
const DEADLINE_MS = 60_000;

/** A real process of one of the programs, with what it prints. */
export class Program implements AsyncDisposable {
  /** Everything on standard output so far. */
  stdout = "";
  /** Everything on standard error so far. */
  stderr = "";
  readonly #process: Deno.ChildProcess;
  readonly #reading: Promise<void>;
  #listeners = new Set<() => void>();
  #status: Deno.CommandStatus | null = null;

  /** Starts `programs/NAME.ts`, or the demo. */
  constructor(name: string, args: readonly string[], options: ProgramOptions = {}) {
    this.#process = new Deno.Command(Deno.execPath(), {
      args: [
        "run",
        "--no-check",
        ...(options.permissions ?? ["--allow-all"]),
        new URL(name === "demo" ? "examples/demo/main.ts" : `programs/${name}.ts`, root).href,
        ...args,
      ],
      cwd: options.cwd ?? root,
      env: { NO_COLOR: "1", ...options.env },
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
      detached: options.group ?? false,
      ...options.user,
    }).spawn();
    this.#reading = Promise.all([
      this.#read(this.#process.stdout, (text) => this.stdout += text),
      this.#read(this.#process.stderr, (text) => this.stderr += text),
      this.#process.status.then((status) => {
        this.#status = status;
        this.#changed();
      }),
    ]).then(() => {});
  }

  /** Its process id. */
  get pid(): number {
    return this.#process.pid;
  }

  /** The lines of its log. */
  get log(): LogLine[] {
    return this.stdout.split("\n").slice(0, -1).filter((line) => line.startsWith("{")).map((line) =>
      JSON.parse(line)
    );
  }

  /** Waits for the n-th line with this event. */
  async event(event: string, nth = 1): Promise<LogLine> {
    const find = () => this.log.filter((line) => line.event === event)[nth - 1];
    await this.until(`event ${JSON.stringify(event)} ${nth}`, () => find() !== undefined);
    return find()!;
  }

  /** Waits until a condition on what it printed holds. */
  async until(what: string, holds: () => boolean): Promise<void> {
    const deadline = performance.now() + DEADLINE_MS;
    while (!holds()) {
      if (this.#status !== null) await this.#reading;
      if (holds()) return;
      if (this.#status !== null || performance.now() > deadline) throw this.#failure(`no ${what}`);
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#listeners.add(resolve);
      const timer = setTimeout(resolve, deadline - performance.now());
      await promise;
      clearTimeout(timer);
      this.#listeners.delete(resolve);
    }
  }

  /** Sends it a signal. */
  signal(signal: Deno.Signal): void {
    this.#process.kill(signal);
  }

  /** What a terminal does at Ctrl-C: SIGINT to the program and whatever it started in its group. */
  interruptGroup(): void {
    Deno.kill(-this.pid, "SIGINT");
  }

  /** Waits for its end. */
  async end(): Promise<Deno.CommandStatus> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<null>((resolve) => timer = setTimeout(() => resolve(null), DEADLINE_MS));
    const status = await Promise.race([this.#process.status, late]);
    clearTimeout(timer);
    if (status === null) throw this.#failure("no end");
    await this.#reading;
    return status;
  }

  /** Ends it by force, with what it started, if it still runs. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#status === null) {
      for (const pid of await descendants(this.pid)) tryKill(pid);
      tryKill(this.pid);
    }
    await this.#reading;
  }

  async #read(stream: ReadableStream<Uint8Array>, add: (text: string) => void): Promise<void> {
    for await (const text of stream.pipeThrough(new TextDecoderStream())) {
      add(text);
      this.#changed();
    }
  }

  #changed(): void {
    for (const listener of [...this.#listeners]) listener();
  }

  #failure(what: string): AssertionError {
    const status = this.#status === null ? "it still runs" : `it ended with ${JSON.stringify(this.#status)}`;
    return new AssertionError(`${what}: ${status}\n--- stdout\n${this.stdout}\n--- stderr\n${this.stderr}`);
  }
}

/** The processes below one, by their ids. */
export async function descendants(pid: number): Promise<number[]> {
  const children = (await Deno.readTextFile(`/proc/${pid}/task/${pid}/children`).catch(() => ""))
    .split(" ").filter((text) => text !== "").map(Number);
  return [...children, ...(await Promise.all(children.map(descendants))).flat()];
}

/** A process's memory, in bytes. */
export async function residentBytes(pid: number): Promise<number> {
  const status = await Deno.readTextFile(`/proc/${pid}/status`);
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) * 1024;
}

/** The CPU time that a process has used, in ms. A process that has ended used none any more. */
export async function cpuMs(pid: number): Promise<number> {
  const stat = await Deno.readTextFile(`/proc/${pid}/stat`).catch(() => null);
  if (stat === null) return 0;
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const ticksPerSecond = 100;
  return (Number(fields[11]) + Number(fields[12])) * 1000 / ticksPerSecond;
}

/** Waits until a process has ended. */
export async function gone(pid: number): Promise<void> {
  const deadline = Date.now() + 15_000;
  while (await isRunning(pid)) {
    if (Date.now() > deadline) {
      throw new AssertionError(`process ${pid} still runs, below it ${await descendants(pid)}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** A process that has ended stays in the table until its parent, or whoever inherits it, asks for its code. */
async function isRunning(pid: number): Promise<boolean> {
  const stat = await Deno.readTextFile(`/proc/${pid}/stat`).catch(() => null);
  return stat !== null && !/\) [ZX] /.test(stat);
}

function tryKill(pid: number): void {
  try {
    Deno.kill(pid, "SIGKILL");
  } catch {
    // It has ended.
  }
}
