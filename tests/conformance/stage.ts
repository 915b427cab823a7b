import { assertEquals } from "../support/assert.ts";
import type { Handler } from "../../ports/handler.ts";
import type { JobDetail, JobId, JobState } from "../../ports/job.ts";
import type { Json } from "../../ports/json.ts";
import type { Kind, Periodic, Queue } from "../../ports/kind.ts";
import type { Registrar } from "../../ports/registrar.ts";
import type { Runtime } from "../../ports/runtime.ts";
import type { Beat, Claimed, NewJob, Store } from "../../ports/store.ts";
import type { Settings } from "../../runtime/settings.ts";
import { eventually } from "./eventually.ts";
import type { Action, Entry } from "./handlers/act.ts";
import type { Bench, Harness, OpenTransaction } from "./harness.ts";

/** The suite's timing: about a tenth of the users' defaults. */
export const SUITE_SETTINGS: Partial<Settings> = {
  pollMs: 100,
  heartbeatMs: 500,
  lostAfterMs: 1500,
  leaseMs: 1500,
  stopGraceMs: 1000,
};

/** Settings under which only a signal finds a job in time: polls and heartbeats are too slow. */
export const SIGNALS_ALONE: Partial<Settings> = {
  pollMs: 60_000,
  heartbeatMs: 60_000,
  lostAfterMs: 180_000,
};

/** A handler that ignores its signal for this long is terminated, in ms. */
export const SUITE_GRACE_MS = 200;

/** A case's options for building a runtime. */
export interface RuntimeParts {
  readonly kinds?: readonly Kind[];
  readonly periodics?: readonly Periodic[];
  readonly registrars?: readonly Registrar[];
  readonly queues?: readonly Queue[];
  readonly work?: readonly string[];
  readonly settings?: Partial<Settings>;
}

/** The environment of one case: its storage, its runtimes, its journal. All of it is removed when the case ends. */
export class Stage implements AsyncDisposable {
  readonly #harness: Harness;
  readonly #bench: Bench;
  readonly #directory: string;
  readonly #act: Handler | URL;
  readonly #runtimes: Runtime[] = [];
  readonly #stores: Store[] = [];

  private constructor(harness: Harness, bench: Bench, directory: string, act: Handler | URL) {
    this.#harness = harness;
    this.#bench = bench;
    this.#directory = directory;
    this.#act = act;
  }

  static async open(harness: Harness): Promise<Stage> {
    const act = await harness.handler(new URL("./handlers/act.ts", import.meta.url));
    return new Stage(harness, await harness.open(), await Deno.makeTempDir({ prefix: "millrace_" }), act);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // Release everything that the case left holding.
    await Promise.all(this.#runtimes.map((runtime) => runtime.stop()));
    for (const store of this.#stores) await store.close();
    await this.#bench[Symbol.asyncDispose]();
    await Deno.remove(this.#directory, { recursive: true });
  }

  /** Returns another of the suite's handler modules, in the form that this adapter needs. */
  handler(name: string): Promise<Handler | URL> {
    return this.#harness.handler(new URL(`./handlers/${name}.ts`, import.meta.url));
  }

  /** A kind whose jobs do what their args say. */
  kind(name: string, change: Partial<Kind> = {}): Kind {
    return {
      name,
      queue: "default",
      maxAttempts: 3,
      timeout: 10_000,
      backoff: () => 20,
      handler: this.#act,
      ...change,
    };
  }

  /** Args that tell the suite's handler what to do in each run. */
  act(...runs: Action[]): { readonly [key: string]: Json } {
    return { journal: this.journalPath, runs: runs as unknown as Json };
  }

  /** The same, with a tag for the journal. */
  tagged(tag: string, ...runs: Action[]): { readonly [key: string]: Json } {
    return { ...this.act(...runs), tag };
  }

  /** Builds a runtime without starting it. */
  build(parts: RuntimeParts): Runtime {
    const { kinds, periodics, registrars, queues, work, settings } = parts;
    const runtime = this.#bench.runtime({
      registrars: registrars ??
        [{ ...(kinds ? { kinds } : {}), ...(periodics ? { periodics } : {}) }],
      ...(queues ? { queues } : {}),
      ...(work ? { work } : {}),
      settings: { ...SUITE_SETTINGS, ...settings },
      graceMs: SUITE_GRACE_MS,
    });
    this.#runtimes.push(runtime);
    return runtime;
  }

  /** Builds a runtime and starts it. */
  async start(parts: RuntimeParts): Promise<Runtime> {
    const runtime = this.build(parts);
    await runtime.start();
    return runtime;
  }

  /** Opens a separate store, to play another process. */
  async store(): Promise<Store> {
    const store = await this.#bench.store();
    this.#stores.push(store);
    return store;
  }

  /** Registers another process, which sends heartbeats only when told to. */
  async ghost(): Promise<Ghost> {
    const store = await this.store();
    const id = crypto.randomUUID();
    await store.register({ id, name: "ghost", queues: ["default"] });
    return new Ghost(store, id);
  }

  begin(): Promise<OpenTransaction> {
    return this.#bench.begin();
  }

  /** Runs a function in a transaction, and commits it. */
  async transaction<T>(body: (open: OpenTransaction) => Promise<T>): Promise<T> {
    const open = await this.begin();
    const result = await body(open);
    await open.commit();
    return result;
  }

  /** How a handler begins a transaction. */
  get handlerTransactions(): Bench["handlerTransactions"] {
    return this.#bench.handlerTransactions;
  }

  get journalPath(): string {
    return `${this.#directory}/journal`;
  }

  /** The handlers' journal entries so far. */
  journal(): Entry[] {
    let text = "";
    try {
      text = Deno.readTextFileSync(this.journalPath);
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    }
    // The last line may be incomplete.
    return text.split("\n").slice(0, -1).map((line) => JSON.parse(line));
  }

  /** How often handlers have started, for one job or all. */
  starts(id?: JobId): number {
    return this.journal().filter((entry) => entry.what === "start" && (id === undefined || entry.id === id))
      .length;
  }

  /** A file whose appearance releases handlers that wait for it. */
  gate(name = "gate"): Gate {
    return new Gate(`${this.#directory}/${name}`);
  }

  /** Resolves to the job once it is in the given state. */
  until(runtime: Runtime, id: JobId, state: JobState, deadlineMs = 5000): Promise<JobDetail> {
    return eventually(async () => {
      const job = await runtime.get(id);
      assertEquals(job?.state, state, `job ${id} is ${job?.state}, expected ${state}: ${summary(job)}`);
      return job!;
    }, deadlineMs);
  }

  /** Resolves once the job's handler has recorded its nth start. */
  async untilStarted(id: JobId, times = 1): Promise<void> {
    await eventually(() => this.starts(id) >= times);
  }
}

/** A file whose existence is a signal between a case and a handler. */
export class Gate {
  readonly path: string;

  constructor(path: string) {
    this.path = path;
  }

  open(): void {
    Deno.writeTextFileSync(this.path, "open");
  }

  /** Resolves once a handler has created it. */
  async opened(): Promise<void> {
    await eventually(() => Deno.stat(this.path).then(() => true));
  }
}

/** Another process, as the store sees it. */
export class Ghost {
  readonly store: Store;
  readonly id: string;

  constructor(store: Store, id: string) {
    this.store = store;
    this.id = id;
  }

  /** Claims jobs; the first `free` of them count as started. */
  claim(limit: number, free: number = limit, queue = "default"): Promise<Claimed[]> {
    return this.store.claim({ owner: this.id, queue, limit, free });
  }

  /** Claims waiting jobs, and jobs of one kind that were put aside. */
  claimAside(kind: string, limit: number, queue = "default"): Promise<Claimed[]> {
    return this.store.claim({ owner: this.id, queue, limit, free: limit, aside: kind });
  }

  /** Returns the value of a process's last heartbeat, without changing any process's. */
  async beatOf(owner: string): Promise<string | undefined> {
    return (await ownersOf(this.store)).find(({ id }) => id === owner)?.beat;
  }
}

/** Returns the registered processes, read by a process that is not registered. */
export async function ownersOf(store: Store): Promise<Beat["owners"]> {
  return (await store.beat(crypto.randomUUID())).owners;
}

/** A job as passed to a store, without a runtime and its signals. */
export function bareJob(kind: string, args: Json, change: Partial<NewJob> = {}): NewJob {
  return {
    kind,
    queue: "default",
    args: JSON.stringify(args),
    priority: 2,
    maxAttempts: 3,
    runAt: null,
    unique: false,
    ...change,
  };
}

function summary(job: JobDetail | null): string {
  if (job === null) return "there is no such job";
  const { attempt, run, errors, scheduledAt } = job;
  return JSON.stringify({ attempt, run, scheduledAt, errors: errors.map((error) => error.message) });
}
