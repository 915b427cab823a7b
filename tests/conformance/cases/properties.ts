import fc from "../fast_check.ts";
import { assert, assertEquals } from "../../support/assert.ts";
import { JobRunningError } from "../../../ports/errors.ts";
import { isFinal, type JobState } from "../../../ports/job.ts";
import type { Json } from "../../../ports/json.ts";
import type { RunRef, Settlement, Store } from "../../../ports/store.ts";
import type { Case } from "../case.ts";
import { eventually } from "../eventually.ts";
import { bareJob, Ghost, type Stage } from "../stage.ts";

const SEQUENCES = 50;
const STEPS_MAX = 14;
const ROUND_TRIPS = 2000;
const BATCH = 500;
/** This many jobs of each batch are also read one by one. */
const READ = 20;
/** How long the handlers of a batch may take, in ms. */
const ECHO_MS = 60_000;

const ERROR = { class: "error", message: "as drawn" } as const;

type Step = "claim" | "claim aside" | "cancel" | "retry" | "rescue" | {
  readonly end: Settlement["to"];
  readonly stale: boolean;
};

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 5, arbitrary: fc.constant<Step>("claim") },
  fc.constantFrom<Step>("claim aside", "cancel", "retry", "rescue"),
  {
    weight: 5,
    arbitrary: fc.record({
      end: fc.constantFrom<Settlement["to"]>(
        ...(["completed", "discarded", "cancelled", "retry", "snooze", "release", "put aside"] as const),
      ),
      stale: fc.boolean(),
    }),
  },
);

/** A minimal model of a job. The store must agree with it after every step. */
class Model {
  state: JobState = "pending";
  attempt = 0;
  run = 0;
  snoozes = 0;
  errors = 0;
  cancelRequested = false;
  putAside = false;

  constructor(public maxAttempts: number) {}

  claim(aside: boolean): boolean {
    if (this.state !== "pending" && this.state !== "retryable") return false;
    if (this.putAside && !aside) return false;
    this.putAside = false;
    this.state = "running";
    this.run++;
    this.attempt++;
    return true;
  }

  end(to: Settlement["to"]): void {
    if (to === "completed" || to === "discarded" || to === "cancelled") {
      if (to === "discarded") this.errors++;
      return this.#ended(to);
    }
    if (to === "retry") this.errors++;
    if (this.cancelRequested) return this.#ended("cancelled");
    if (to !== "retry") this.attempt--;
    if (to === "snooze") this.snoozes++;
    this.putAside = to === "put aside";
    this.state = this.attempt > 0 ? "retryable" : "pending";
  }

  cancel(): string {
    if (isFinal(this.state)) return "final";
    if (this.state === "running") {
      this.cancelRequested = true;
      return "requested";
    }
    this.#ended("cancelled");
    return "cancelled";
  }

  retry(): void {
    this.state = "pending";
    this.putAside = false;
    this.cancelRequested = false;
    this.maxAttempts = Math.max(this.maxAttempts, this.attempt + 1);
  }

  /** Its process is lost, after the job had started. */
  rescue(): void {
    if (this.state !== "running") return;
    this.errors++;
    if (this.cancelRequested) this.#ended("cancelled");
    else if (this.attempt >= this.maxAttempts) this.#ended("discarded");
    else this.state = "retryable";
  }

  #ended(to: JobState): void {
    this.state = this.cancelRequested ? "cancelled" : to;
  }
}

async function anotherProcess(store: Store): Promise<Ghost> {
  const id = crypto.randomUUID();
  await store.register({ id, name: "drawn", queues: ["default"] });
  return new Ghost(store, id);
}

/** One job, the process that works it, and the model of both. */
class Sequence {
  readonly #model: Model;
  readonly #id: string;
  readonly #queue: string;
  readonly #old: RunRef[] = [];
  #ghost: Ghost;

  private constructor(ghost: Ghost, id: string, queue: string, maxAttempts: number) {
    this.#ghost = ghost;
    this.#id = id;
    this.#queue = queue;
    this.#model = new Model(maxAttempts);
  }

  static async begin(store: Store, maxAttempts: number): Promise<Sequence> {
    const ghost = await anotherProcess(store);
    const queue = crypto.randomUUID();
    const [made] = await ghost.store.insert([bareJob("k", {}, { queue, maxAttempts })]);
    return new Sequence(ghost, made!.id, queue, maxAttempts);
  }

  async step(step: Step): Promise<void> {
    if (step === "claim" || step === "claim aside") await this.#claim(step === "claim aside");
    else if (step === "cancel") await this.#cancel();
    else if (step === "retry") await this.#retry();
    else if (step === "rescue") await this.#rescue();
    else await this.#end(step.end, step.stale);
    await this.#agree(step);
  }

  async end(): Promise<void> {
    await this.#ghost.store.cancel(this.#id);
    await this.#ghost.store.unregister(this.#ghost.id);
  }

  async #claim(aside: boolean): Promise<void> {
    const claimed = aside
      ? await this.#ghost.claimAside("k", 1, this.#queue)
      : await this.#ghost.claim(1, 1, this.#queue);
    const may = this.#model.claim(aside);
    assertEquals(claimed.map(({ id }) => id), may ? [this.#id] : []);
    if (!may) return;
    // A job that runs alone is not recorded as started by its claim.
    await this.#ghost.store.started(this.#ghost.id, claimed);
    this.#old.push({ id: this.#id, run: claimed[0]!.run });
  }

  async #end(to: Settlement["to"], stale: boolean): Promise<void> {
    const isRunning = this.#model.state === "running";
    const known = stale ? this.#old.slice(0, isRunning ? -1 : undefined) : this.#old.slice(-1);
    const ref = known.at(-1);
    if (ref === undefined) return;
    const isFinalEnd = to === "completed" || to === "discarded" || to === "cancelled";
    const error = to === "retry" || to === "discarded" ? ERROR : null;
    const [settled] = await this.#ghost.store.settle([
      isFinalEnd ? { ...ref, to, output: null, error } : { ...ref, to, delayMs: 0, error, alone: false },
    ]);
    const counts = isRunning && !stale;
    if (counts) this.#model.end(to);
    assertEquals(settled, counts ? this.#model.state : "fenced");
  }

  async #cancel(): Promise<void> {
    const expected = this.#model.cancel();
    assertEquals((await this.#ghost.store.cancel(this.#id)).result, expected);
  }

  async #retry(): Promise<void> {
    if (this.#model.state !== "running") {
      this.#model.retry();
      assertEquals(await this.#ghost.store.retry(this.#id), this.#queue);
      return;
    }
    const refused = await this.#ghost.store.retry(this.#id).then(() => null, (error) => error);
    assert(refused instanceof JobRunningError, String(refused));
  }

  async #rescue(): Promise<void> {
    const { store, id } = this.#ghost;
    const { complete } = await store.rescue(id, (await this.#ghost.beatOf(id))!, { message: "lost" });
    assertEquals(complete, true);
    this.#model.rescue();
    this.#ghost = await anotherProcess(store);
  }

  async #agree(after: Step): Promise<void> {
    const job = (await this.#ghost.store.get(this.#id))!;
    const { state, attempt, run, snoozes, maxAttempts, cancelRequested } = this.#model;
    assertEquals(
      [job.state, job.attempt, job.run, job.snoozes, job.maxAttempts, job.errors.length],
      [state, attempt, run, snoozes, maxAttempts, this.#model.errors],
      `after ${JSON.stringify(after)}`,
    );
    if (!isFinal(state)) assertEquals(job.cancelRequested, cancelRequested);
  }
}

/** Any JSON that can be stored. */
const json: fc.Arbitrary<Json> = fc.jsonValue({ stringUnit: "binary", maxDepth: 4 })
  .filter((value) => !JSON.stringify(value).includes("\\u0000")) as fc.Arbitrary<Json>;

/** Enqueues random args and compares what a claim returns with them, byte by byte in a fixed order of keys. */
export async function roundTrips(stage: Stage, count: number): Promise<void> {
  const runtime = stage.build({ kinds: [stage.kind("k")] });
  const ghost = await stage.ghost();
  for (let done = 0; done < count; done += BATCH) {
    const given = fc.sample(json, Math.min(BATCH, count - done)).map((value, n) => ({ n, value }));
    const ids = await runtime.enqueueMany(given.map((args) => ({ kind: "k", args })));
    const claimed = new Map((await ghost.claim(BATCH)).map(({ id, args }) => [id, args]));
    for (const [n, id] of ids.entries()) {
      assertEquals(ordered(JSON.parse(claimed.get(id)!)), ordered(given[n]!));
    }
    for (const [n, id] of ids.slice(0, READ).entries()) {
      const job = (await runtime.get(id))!;
      assertEquals([ordered(job.args), job.unsafeNumbers], [ordered(given[n]!), []]);
    }
    await ghost.store.settle(
      ids.map((id) => ({ id, run: 1, to: "completed", output: null, error: null })),
    );
  }
}

/** Enqueues random args for a handler that returns them, and compares the results with the args in the same way. */
export async function echoes(stage: Stage, count: number): Promise<void> {
  const echo = stage.kind("echo", { handler: await stage.handler("echo"), maxAttempts: 1 });
  const runtime = await stage.start({ kinds: [echo], queues: [{ name: "default", concurrency: BATCH }] });
  for (let done = 0; done < count; done += BATCH) {
    const given = fc.sample(json, Math.min(BATCH, count - done)).map((value, n) => ({ n, value }));
    const ids = await runtime.enqueueMany(given.map((args) => ({ kind: "echo", args })));
    await eventually(async () => {
      const { pending, running, retryable } = (await runtime.overview("echo")).states;
      return pending + running + retryable === 0;
    }, ECHO_MS);
    for (let from = 0; from < ids.length; from += READ) {
      const jobs = await Promise.all(ids.slice(from, from + READ).map((id) => runtime.get(id)));
      for (const [n, job] of jobs.entries()) {
        assertEquals([job!.state, ordered(job!.output)], ["completed", ordered(given[from + n]!)]);
      }
    }
  }
}

/** JSON text with sorted object keys: key order is not preserved, and has no meaning. */
function ordered(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(ordered).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const entries = Object.entries(value).toSorted(([one], [other]) => one < other ? -1 : one > other ? 1 : 0);
  return `{${entries.map(([key, each]) => `${JSON.stringify(key)}:${ordered(each)}`).join(",")}}`;
}

/** Properties that hold for any random input. A failure reports the seed and the smallest example. */
export const propertyCases: readonly Case[] = [
  {
    name: "whatever happens to a job, in whatever order, its state and its counts are the model's",
    async run(stage) {
      const store = await stage.store();
      const property = fc.asyncProperty(
        fc.integer({ min: 1, max: 3 }),
        fc.array(step, { maxLength: STEPS_MAX }),
        async (maxAttempts, steps) => {
          const sequence = await Sequence.begin(store, maxAttempts);
          for (const each of steps) await sequence.step(each);
          await sequence.end();
        },
      );
      await fc.assert(property, { numRuns: SEQUENCES });
    },
  },
  {
    name: `${ROUND_TRIPS} random args come back exactly as they were given`,
    run: (stage) => roundTrips(stage, ROUND_TRIPS),
  },
  {
    name: `${BATCH} random args reach a handler exactly as they were given, and come back so as its output`,
    run: (stage) => echoes(stage, BATCH),
  },
  {
    name: "whatever kinds and queues are called, each gets its own jobs and no other's",
    async run(stage) {
      const name = fc.string({ unit: "binary", minLength: 1, maxLength: 40 })
        .filter((text) => !text.includes("\u0000"));
      const names = fc.sample(fc.uniqueArray(name, { minLength: 2, maxLength: 20 }), 5);
      const ghost = await stage.ghost();
      for (const queues of names) {
        const jobs = queues.map((queue, n) => bareJob(`k${queue}`, { n }, { queue }));
        const ids = (await ghost.store.insert(jobs)).map(({ id }) => id);
        for (const [n, queue] of queues.entries()) {
          const claimed = await ghost.claim(queues.length, 1, queue);
          assertEquals(claimed.map(({ id, kind }) => [id, kind]), [[ids[n], `k${queue}`]]);
          const end = { id: ids[n]!, run: 1, to: "completed", output: null, error: null } as const;
          await ghost.store.settle([end]);
        }
      }
    },
  },
];
