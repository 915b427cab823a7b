import { descendants } from "../programs/program.ts";
import { TcpProxy } from "../integration/support/tcp_proxy.ts";
import { JOURNAL_VARIABLE, type JournalWriter } from "./journal.ts";

/** Where the worker programs of a run find what they need. */
export interface Site {
  /** The database itself. */
  readonly url: string;
  /** The schema of the product's tables and of the run's own. */
  readonly schema: string;
  /** The journal's path. */
  readonly journal: string;
  /** A folder for what the programs print. */
  readonly folder: string;
}

const root = new URL("../../", import.meta.url);
const RESTART_MS = 500;

/**
 * One member of the fleet: a supervisor with its worker program, which reaches the database through a proxy of its
 * own. When the supervisor is gone another one is started, as the system's service manager would do.
 */
export class Member implements AsyncDisposable {
  /** What stands between it and the database. */
  readonly proxy: TcpProxy;
  readonly #site: Site;
  readonly #name: string;
  readonly #journal: JournalWriter;
  readonly #env: Readonly<Record<string, string>>;
  readonly #flags: readonly string[];
  #supervisor: Deno.ChildProcess | null = null;
  #running: Promise<void> = Promise.resolve();
  #worker: number | null = null;
  readonly #expected = new Set<number>();
  /** Those that have said that they started. */
  readonly #stable = new Set<number>();
  /** Those that were cut off, while it is. */
  #cutOff: Set<number> | null = null;
  /** What breaks its connections at present. */
  readonly #disturbances: string[] = [];
  #ended = false;
  #started = 0;

  constructor(
    site: Site,
    name: string,
    journal: JournalWriter,
    options: { env?: Readonly<Record<string, string>>; flags?: readonly string[]; url?: string } = {},
  ) {
    this.#site = site;
    this.#name = name;
    this.#journal = journal;
    this.#env = options.env ?? {};
    this.#flags = options.flags ?? [];
    this.proxy = new TcpProxy(options.url ?? site.url);
  }

  /** The worker program's process id; null while there is none. */
  get worker(): number | null {
    return this.#worker;
  }

  /** The supervisor's process id; null while there is none. */
  get supervisor(): number | null {
    return this.#supervisor?.pid ?? null;
  }

  /** Whether there is a worker that has said that it started. */
  get isUp(): boolean {
    return this.#worker !== null && this.#stable.has(this.#worker);
  }

  /** How often a worker has said that it started. */
  get started(): number {
    return this.#started;
  }

  /** Starts it, and again whenever its supervisor is gone. */
  start(): void {
    this.#running = this.#run();
  }

  /** The worker program is about to end, and it is no fault of its own. */
  expect(pid: number): void {
    this.#expected.add(pid);
  }

  /** It is cut off from the database for as long as this takes, also a worker that starts meanwhile. */
  async cutOff(during: (proxy: TcpProxy) => Promise<void>): Promise<void> {
    if (this.#cutOff !== null) return;
    this.#cutOff = new Set();
    if (this.#worker !== null) this.#noteCutOff(this.#worker);
    try {
      await during(this.proxy);
    } finally {
      this.proxy.restore();
      for (const pid of this.#cutOff) this.#journal.write({ what: "back", pid });
      this.#cutOff = null;
    }
  }

  /** Something of its connections breaks for as long as this takes, also for a worker that starts meanwhile. */
  async disturb(why: string, during: (proxy: TcpProxy) => void | Promise<void>): Promise<void> {
    this.#disturbances.push(why);
    this.#noteDisturbed(why);
    try {
      await during(this.proxy);
    } finally {
      this.#disturbances.splice(this.#disturbances.indexOf(why), 1);
      this.#noteDisturbed(why);
    }
  }

  /** Tells the supervisor to stop in order. */
  stopOnce(): void {
    if (this.#worker !== null) this.#noteStop(this.#worker);
    this.#signal("SIGTERM");
  }

  /** Kills the supervisor. Its worker stops in order by itself. */
  killSupervisor(): void {
    if (this.#worker !== null) this.#noteStop(this.#worker);
    this.#signal("SIGKILL");
  }

  /** Stops it for good. Resolves to whether it ended in order. */
  async end(): Promise<boolean> {
    this.#ended = true;
    this.stopOnce();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<boolean>((resolve) => timer = setTimeout(() => resolve(false), 90_000));
    const inOrder = await Promise.race([this.#running.then(() => true), late]);
    clearTimeout(timer);
    return inOrder;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ended = true;
    const supervisor = this.supervisor;
    if (supervisor !== null) {
      for (const pid of [...await descendants(supervisor), supervisor]) tryKill(pid, "SIGKILL");
    }
    await this.#running;
    await this.proxy[Symbol.asyncDispose]();
  }

  async #run(): Promise<void> {
    using output = await Deno.open(`${this.#site.folder}/${this.#name}.log`, { append: true, create: true });
    while (!this.#ended) {
      const supervisor = this.#spawn();
      this.#supervisor = supervisor;
      await Promise.all([this.#read(supervisor.stdout, output), this.#read(supervisor.stderr, output)]);
      const status = await supervisor.status;
      // With the first start that fails it ends too, without a word.
      if (!status.success && status.signal === null && this.#worker !== null) {
        this.#noteDeath(this.#worker, `exit ${status.code}`);
      }
      this.#supervisor = null;
      this.#worker = null;
      if (!this.#ended) await new Promise((resolve) => setTimeout(resolve, RESTART_MS));
    }
  }

  #spawn(): Deno.ChildProcess {
    return new Deno.Command(Deno.execPath(), {
      args: [
        "run",
        "--no-check",
        "--allow-all",
        new URL("programs/supervisor.ts", root).href,
        "--schema",
        this.#site.schema,
        "--threads",
        "2",
        ...this.#flags,
        new URL("application.ts", import.meta.url).pathname,
      ],
      cwd: root,
      env: {
        NO_COLOR: "1",
        DATABASE_URL: this.proxy.url,
        CHAOS_SCHEMA: this.#site.schema,
        [JOURNAL_VARIABLE]: this.#site.journal,
        ...this.#env,
      },
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
  }

  async #read(stream: ReadableStream<Uint8Array>, output: Deno.FsFile): Promise<void> {
    const encoder = new TextEncoder();
    let rest = "";
    for await (const text of stream.pipeThrough(new TextDecoderStream())) {
      const lines = (rest + text).split("\n");
      rest = lines.pop()!;
      for (const line of lines) {
        output.writeSync(encoder.encode(line + "\n"));
        this.#told(line);
      }
    }
  }

  #told(line: string): void {
    if (!line.startsWith("{")) return;
    const { event, pid, code, signal } = JSON.parse(line);
    if (event === "worker starting") {
      this.#worker = pid;
      this.#journal.write({ what: "starting", pid });
      this.#noteCutOff(pid);
      for (const why of this.#disturbances) this.#noteDisturbed(why);
    }
    if (event === "started") {
      this.#started++;
      if (this.#worker !== null) this.#stable.add(this.#worker);
    }
    if (event === "worker recycles itself, starting the next") {
      this.#expected.add(pid);
      this.#journal.write({ what: "recycle", pid });
    }
    if (event === "worker ended, starting another") {
      if (pid === this.#worker) this.#worker = null;
      this.#noteDeath(pid, signal ?? `exit ${code}`);
    }
  }

  #noteDeath(pid: number, why: string): void {
    if (this.#expected.has(pid)) return;
    this.#journal.write({ what: "died", pid, why, started: this.#stable.has(pid) });
  }

  #noteCutOff(pid: number): void {
    if (this.#cutOff === null) return;
    this.#cutOff.add(pid);
    this.#journal.write({ what: "out", pid, why: "cut off" });
  }

  #noteDisturbed(why: string): void {
    if (this.#worker !== null) this.#journal.write({ what: "disturbed", pid: this.#worker, why });
  }

  #noteStop(pid: number): void {
    this.#expected.add(pid);
    this.#journal.write({ what: "stop", pid });
  }

  #signal(signal: Deno.Signal): void {
    if (this.supervisor !== null) tryKill(this.supervisor, signal);
  }
}

/** Sends a signal to a process that may have gone. */
export function tryKill(pid: number, signal: Deno.Signal): boolean {
  try {
    Deno.kill(pid, signal);
    return true;
  } catch {
    return false;
  }
}
