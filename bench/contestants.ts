import { HEAP_FLAG } from "../programs/heap_flag.ts";
import type { Program } from "./peer_process.ts";
import { nodeProgram, riverProgram } from "./peers/install.ts";

/** Someone who takes part: a program and how it is set up. */
export interface Contestant {
  /** The name in the tables. */
  readonly name: string;
  /** Whether it is Millrace, the bare statements, or a peer. */
  readonly side: "millrace" | "bare" | "peer";
  /** Whether it runs at its defaults, untouched by any tuning. */
  readonly isDefault: boolean;
  /** What its program is told when it opens. */
  readonly open: Readonly<Record<string, unknown>>;
  /** Whether it needs a Redis server instead of the database. */
  readonly needsRedis: boolean;
  /** Its program. A text says why it can't take part here. */
  program(): Promise<Program | string>;
}

/** Whether a contestant is meant by a part of its name. */
export function nameContains(name: string, part: string): boolean {
  return name.toLowerCase().includes(part.toLowerCase());
}

/** A program of ours by its path, run as `deno task worker` runs its program. */
export function localProgram(path: string): Program {
  return { command: Deno.execPath(), args: ["run", "-A", HEAP_FLAG, "--quiet", path] };
}

const local = (path: string): Program =>
  localProgram(decodeURIComponent(new URL(path, import.meta.url).pathname));

function millrace(name: string, open: Record<string, unknown>, isDefault = false): Contestant {
  return {
    name,
    side: "millrace",
    isDefault,
    open: { inline: false, concurrency: 1000, threads: null, ...open },
    needsRedis: false,
    program: () => Promise.resolve(local("./peers/millrace/main.ts")),
  };
}

function peer(name: string, program: () => Promise<Program | string>, needsRedis = false): Contestant[] {
  return [true, false].map((tuned) => ({
    name: `${name}, ${tuned ? "tuned" : "defaults"}`,
    side: "peer",
    isDefault: !tuned,
    open: { tuned },
    needsRedis,
    program,
  }));
}

/** The bare statements. */
export const LIMIT = "PostgreSQL alone";
/** Handlers in worker threads. */
export const THREADS = "Millrace, threads";
/** Handlers in the main thread. */
export const INLINE = "Millrace, inline";
/** No option set at all. */
export const DEFAULTS = "Millrace, defaults";
/** No option set but that the handler is a function. */
export const INLINE_DEFAULTS = "Millrace, inline, defaults";

/** Everyone who can take part. */
export const CONTESTANTS: readonly Contestant[] = [
  {
    name: LIMIT,
    side: "bare",
    isDefault: false,
    open: {},
    needsRedis: false,
    program: () => Promise.resolve(local("./peers/bare/main.ts")),
  },
  millrace(THREADS, {}),
  millrace(INLINE, { inline: true }),
  millrace(DEFAULTS, { concurrency: null }, true),
  millrace(INLINE_DEFAULTS, { inline: true, concurrency: null }, true),
  ...peer("graphile-worker", () => nodeProgram("graphile_worker.mjs")),
  ...peer("pg-boss", () => nodeProgram("pg_boss.mjs")),
  ...peer("BullMQ on PostgreSQL", () => nodeProgram("bullmq.mjs")),
  ...peer("BullMQ on Redis", () => nodeProgram("bullmq.mjs"), true),
  ...peer("River", () => riverProgram()),
];

/** The names of the peers. */
export const PEERS: readonly string[] = CONTESTANTS.filter(({ side }) => side === "peer").map(({ name }) =>
  name
);
