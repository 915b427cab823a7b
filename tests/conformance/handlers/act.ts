import { InvalidOptionError, UndeclaredKindError, UndeclaredQueueError } from "../../../ports/errors.ts";
import { discard, type JobContext, snooze } from "../../../ports/handler.ts";
import type { EnqueueRequest, Jobs } from "../../../ports/jobs.ts";
import type { Json } from "../../../ports/json.ts";
import type { OpenTransaction } from "../harness.ts";

/** What the suite's handler does in one run. */
export type Action =
  | { readonly do: "return"; readonly value?: Json }
  /** Returns its own args. */
  | { readonly do: "echo" }
  /** Returns its context's values. */
  | { readonly do: "context" }
  | { readonly do: "fail"; readonly message?: string }
  /** Null stands for NaN, which JSON does not have. */
  | { readonly do: "snooze"; readonly ms: number | null }
  | { readonly do: "discard"; readonly reason: string }
  /** Works until a file exists, then returns. At its signal it throws, returns all the same, or goes on. */
  | { readonly do: "hold"; readonly until: string; readonly atSignal?: "throw" | "return" | "ignore" }
  | {
    readonly do: "progress";
    readonly steps: readonly (readonly [number, string?])[];
    readonly until?: string;
  }
  | {
    readonly do: "complete in";
    readonly module: string;
    readonly args: Json;
    readonly output?: Json;
    readonly end: "commit" | "rollback";
    /** Waits for this file before it completes. */
    readonly after?: string;
    /** Creates this file once the completion is in the transaction. */
    readonly mark?: string;
    /** Waits for this file between the completion and the end of the transaction. */
    readonly until?: string;
    readonly thenFail?: boolean;
  }
  /** Enqueues through its context, optionally in its own transaction, and returns the ids. */
  | {
    readonly do: "enqueue";
    readonly requests: readonly EnqueueRequest[];
    readonly in?: { readonly module: string; readonly args: Json; readonly end: "commit" | "rollback" };
  }
  /** Cancels a job through its context. */
  | { readonly do: "cancel"; readonly id: string }
  /** Reports what enqueuing refuses: for each request the error's class, and the field that it names. */
  | { readonly do: "enqueue wrongly"; readonly requests: readonly Json[] }
  | { readonly do: "throw"; readonly what: "undefined" | "string" | "object" | "long" | "unstorable" }
  | { readonly do: "return odd"; readonly what: "function" | "bigint" | "nan" | "too large" | "undefined" }
  /** Never yields the thread while any case lasts. */
  | { readonly do: "spin" }
  | { readonly do: "exit" }
  | { readonly do: "close" }
  | { readonly do: "reject" }
  /** Returns, and leaves a promise behind that rejects this many ms later. */
  | { readonly do: "reject later"; readonly ms: number };

/** The args of the suite's handler. */
export interface ActArgs {
  /** The file in which it records its starts and ends. */
  readonly journal: string;
  /** What it does in its first run, its second run, and so on; the last entry applies to all further runs. */
  readonly runs: readonly Action[];
  /** Identifies the job in the journal. */
  readonly tag?: string;
}

/** One line of the journal. */
export interface Entry {
  readonly at: number;
  readonly what: "start" | "end" | "abort";
  readonly id: string;
  readonly tag: string | null;
  readonly attempt: number;
  readonly note?: string;
}

const SPIN_MS = 6000;

/** The suite's only handler: its args say what it does, and a file records what it did. */
export default async function act(given: Json, ctx: JobContext): Promise<Json | void> {
  const args = given as unknown as ActArgs;
  const note = (what: Entry["what"], text?: string) => {
    const { id, attempt } = ctx;
    const entry: Entry = {
      at: Date.now(),
      what,
      id,
      tag: args.tag ?? null,
      attempt,
      ...(text === undefined ? {} : { note: text }),
    };
    Deno.writeTextFileSync(args.journal, JSON.stringify(entry) + "\n", { append: true });
  };
  const before = startsOf(args.journal, ctx.id);
  const action = args.runs[Math.min(before, args.runs.length - 1)]!;
  note("start");
  ctx.signal.addEventListener("abort", () => note("abort", describe(ctx.signal.reason)));
  try {
    return await perform(action, given, ctx);
  } finally {
    note("end");
  }
}

async function perform(action: Action, args: Json, ctx: JobContext): Promise<Json | void> {
  switch (action.do) {
    case "return":
      return action.value;
    case "echo":
      return args;
    case "context": {
      const { id, kind, queue, attempt, maxAttempts, signal } = ctx;
      return { id, kind, queue, attempt, maxAttempts, aborted: signal.aborted };
    }
    case "fail":
      throw new Error(action.message ?? "told to fail");
    case "snooze":
      throw snooze(action.ms ?? NaN);
    case "discard":
      throw discard(action.reason);
    case "hold":
      return await hold(action.until, ctx.signal, action.atSignal ?? "throw");
    case "progress":
      for (const [done, text] of action.steps) ctx.progress(done, text);
      if (action.until !== undefined) await hold(action.until, ctx.signal, "throw");
      return;
    case "complete in":
      return await completeIn(action, ctx);
    case "enqueue":
      return await enqueue(action, ctx);
    case "cancel":
      return { ...await ctx.jobs.cancel(action.id) };
    case "enqueue wrongly":
      return await Promise.all(
        action.requests.map((request) => refusal(ctx, request as unknown as EnqueueRequest)),
      );
    case "throw":
      throw thrown(action.what);
    case "return odd":
      return odd(action.what) as Json;
    case "spin":
      spin();
      return await new Promise(() => {});
    case "exit":
      Deno.exit(3);
      break;
    case "close":
      (globalThis as unknown as { close(): void }).close();
      return await new Promise(() => {});
    case "reject":
      Promise.reject(new Error("a stray rejection"));
      return await new Promise(() => {});
    case "reject later":
      setTimeout(() => Promise.reject(new Error("a late rejection")), action.ms);
      return "returned before";
  }
}

/**
 * Spins longer than any case lasts, but not forever: such a thread can't be terminated before its process ends, which
 * still has other cases to run.
 */
function spin(): void {
  const until = performance.now() + SPIN_MS;
  while (performance.now() < until);
}

async function hold(
  until: string,
  signal: AbortSignal,
  atSignal: "throw" | "return" | "ignore",
): Promise<Json> {
  while (!exists(until)) {
    if (signal.aborted && atSignal === "throw") signal.throwIfAborted();
    if (signal.aborted && atSignal === "return") return "returned all the same";
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  return "held";
}

async function completeIn(action: Action & { do: "complete in" }, ctx: JobContext): Promise<Json> {
  const begin: (args: Json) => Promise<OpenTransaction> = (await import(action.module)).default;
  if (action.after !== undefined) await hold(action.after, ctx.signal, "ignore");
  const { tx, commit, rollback } = await begin(action.args);
  try {
    await ctx.completeIn(tx, action.output);
    if (action.mark !== undefined) Deno.writeTextFileSync(action.mark, "completed");
    if (action.until !== undefined) await hold(action.until, ctx.signal, "ignore");
  } catch (error) {
    await rollback();
    throw error;
  }
  await (action.end === "commit" ? commit() : rollback());
  if (action.thenFail) throw new Error("failed after its completion");
  return "not kept";
}

async function enqueue(action: Action & { do: "enqueue" }, ctx: JobContext): Promise<Json> {
  const { requests } = action;
  const enqueueIn = async (jobs: Jobs): Promise<Json> => {
    const { kind, args, ...options } = requests[0]!;
    return requests.length === 1
      ? [await jobs.enqueue(kind, args, options)]
      : await jobs.enqueueMany(requests);
  };
  if (action.in === undefined) return await enqueueIn(ctx.jobs);
  const begin: (args: Json) => Promise<OpenTransaction> = (await import(action.in.module)).default;
  const { tx, commit, rollback } = await begin(action.in.args);
  const ids = await enqueueIn(ctx.jobs.with(tx));
  await (action.in.end === "commit" ? commit() : rollback());
  return ids;
}

async function refusal(ctx: JobContext, request: EnqueueRequest): Promise<Json> {
  try {
    await ctx.jobs.enqueueMany([request]);
    return "none";
  } catch (error) {
    if (error instanceof UndeclaredKindError) return ["UndeclaredKindError", error.kind];
    if (error instanceof InvalidOptionError) return ["InvalidOptionError", error.option];
    if (error instanceof UndeclaredQueueError) return ["UndeclaredQueueError", error.queue];
    return String(error);
  }
}

function thrown(what: "undefined" | "string" | "object" | "long" | "unstorable"): unknown {
  switch (what) {
    case "undefined":
      return undefined;
    case "string":
      return "just a text";
    case "object":
      return {
        get message(): string {
          throw new Error("no message for you");
        },
      };
    case "unstorable":
      return new Error("before \u0000 \ud800 after");
    case "long":
      return new Error("x".repeat(20_000));
  }
}

function odd(what: "function" | "bigint" | "nan" | "too large" | "undefined"): unknown {
  switch (what) {
    case "function":
      return { run: () => {} };
    case "bigint":
      return { id: 10n };
    case "nan":
      return [NaN];
    case "too large":
      return "x".repeat(64 * 1024 - 1);
    case "undefined":
      return undefined;
  }
}

/** How often a job has started before. */
function startsOf(journal: string, id: string): number {
  if (!exists(journal)) return 0;
  const lines = Deno.readTextFileSync(journal).split("\n").filter((line) => line !== "");
  return lines.map((line) => JSON.parse(line) as Entry)
    .filter((entry) => entry.id === id && entry.what === "start").length;
}

function exists(path: string): boolean {
  try {
    Deno.statSync(path);
    return true;
  } catch {
    return false;
  }
}

function describe(reason: unknown): string {
  return reason instanceof Error ? `${reason.name}: ${reason.message}` : String(reason);
}
