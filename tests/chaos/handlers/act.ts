import { discard, type JobContext, snooze } from "../../../ports/handler.ts";
import type { Json } from "../../../ports/json.ts";
import { type Ending, note } from "../journal.ts";
import { ORDER } from "../order.ts";
import { inTransaction } from "../transaction.ts";
import { runtimePid } from "../runtime_pid.ts";

/** What one attempt does. */
export type Step =
  | { readonly do: "return" | "throw" | "discard" | "exit" | "reject" | "timer" }
  | { readonly do: "allocate" | "spin" | "hang" | "bomb" }
  /** Snoozes with this probability, so that it comes to an end; else returns. */
  | { readonly do: "snooze"; readonly ms: number; readonly chance: number }
  /** Holds the thread without giving it back, and then returns. */
  | { readonly do: "block"; readonly blockMs: number }
  /** Writes an effect and completes in one transaction, which commits or not; and enqueues the next job in it. */
  | { readonly do: "complete in"; readonly commit: boolean; readonly next?: boolean };

/** The args of every job of a run. */
export interface ActArgs {
  /** Tells the job apart from every other; a unique one from those with another key. */
  readonly tag: string;
  /** How long each attempt works before it ends, in ms. */
  readonly ms: number;
  /** What the attempts do, the last for ever. */
  readonly steps: readonly Step[];
  /** What it follows the changes of. */
  readonly thing?: string;
}

const ALIVE_MS = 50;

/** The one handler of a run. It writes down that it begins, that it is there, and how it ends. */
export default async function act(given: Json, ctx: JobContext): Promise<Json | void> {
  const { ms, steps, thing } = given as unknown as ActArgs;
  const execution = crypto.randomUUID();
  const { id, kind, attempt } = ctx;
  note({ what: "start", execution, id, kind, attempt, pid: Deno.pid, runtime: runtimePid() });
  const step = steps[Math.min(attempt, steps.length) - 1]!;
  if (thing !== undefined) note({ what: "saw", execution, changes: await changesOf(thing) });
  for (let left = ms; left > 0; left -= ALIVE_MS) {
    await new Promise((resolve) => setTimeout(resolve, Math.min(left, ALIVE_MS)));
    // A cancel or a stop: whoever obeys ends at once.
    ctx.signal.throwIfAborted();
    note({ what: "alive", execution });
  }
  return await end(step, execution, ctx);
}

async function end(step: Step, execution: string, ctx: JobContext): Promise<Json | void> {
  const say = (how: Ending) => note({ what: "end", execution, how });
  switch (step.do) {
    case "return":
      say("return");
      return { execution };
    case "block": {
      const until = performance.now() + step.blockMs;
      while (performance.now() < until);
      say("return");
      return { execution };
    }
    case "throw":
      say("throw");
      throw new Error("as told");
    case "discard":
      say("discard");
      throw discard("as told");
    case "snooze":
      if (Math.random() < step.chance) {
        say("snooze");
        throw snooze(step.ms);
      }
      say("return");
      return { execution };
    case "complete in":
      return await completeIn(step, execution, ctx, () => say("return"));
    case "exit":
      say("exit");
      Deno.exit(3);
      break;
    case "reject":
      say("reject");
      Promise.reject(new Error("nobody handles this"));
      return await never();
    case "timer":
      say("timer");
      setTimeout(() => {
        throw new Error("thrown in a timer");
      }, 0);
      return await never();
    case "allocate":
      say("allocate");
      for (const kept: unknown[] = [];;) kept.push(new Array(100_000).fill(kept.length));
    case "spin":
      say("spin");
      for (;;);
    case "hang":
      say("hang");
      return await never();
    case "bomb":
      note({ what: "kill", pid: Deno.pid, by: execution });
      say("bomb");
      Deno.kill(Deno.pid, "SIGKILL");
      return await never();
  }
}

/** The effect, the completion and the next job commit together, or none of them does. */
async function completeIn(
  { commit, next }: Step & { readonly do: "complete in" },
  execution: string,
  ctx: JobContext,
  say: () => void,
): Promise<Json | void> {
  const schema = Deno.env.get("CHAOS_SCHEMA")!;
  await inTransaction(Deno.env.get("DATABASE_URL")!, async (tx) => {
    await tx.unsafe(
      `insert into ${schema}.chaos_effect (job_id, execution) values ($1::text::bigint, $2::text)`,
      [ctx.id, execution],
    );
    if (next === true) {
      const tag = `${ORDER}${execution}`;
      await tx.unsafe(`insert into ${schema}.chaos_order (tag) values ($1::text)`, [tag]);
      await ctx.jobs.with(tx).enqueue("fast", { tag, ms: 0, steps: [{ do: "return" }] });
    }
    await ctx.completeIn(tx, { execution });
    return commit;
  });
  say();
}

/** The committed changes of a thing. */
async function changesOf(thing: string): Promise<number[]> {
  const schema = Deno.env.get("CHAOS_SCHEMA")!;
  let changes: number[] = [];
  await inTransaction(Deno.env.get("DATABASE_URL")!, async (tx) => {
    const rows = await tx.unsafe(`select number from ${schema}.chaos_change where thing = $1::text`, [thing]);
    changes = rows.map((row) => Number(row.number));
    return true;
  });
  return changes;
}

function never(): Promise<never> {
  return new Promise(() => setInterval(() => {}, 60_000));
}
