/** The kinds of the integration tests, and how a worker program is told what it is. */
import type { CreateRuntimeOptions } from "../../../mod.ts";
import type { Handler } from "../../../ports/handler.ts";
import type { Kind, Periodic } from "../../../ports/kind.ts";
import type { Settings } from "../../../runtime/settings.ts";
import { silentLog } from "../../../shared/log.ts";

/** About a tenth of the defaults. */
export const SETTINGS: Partial<Settings> = {
  pollMs: 100,
  heartbeatMs: 500,
  lostAfterMs: 1500,
  leaseMs: 1500,
  stopGraceMs: 1000,
  purgeMs: 300,
};

/** The names of the kinds. */
export type KindName = "plain" | "hold" | "bomb" | "hog" | "capped" | "fail" | "newer";

/** What a worker program is, as JSON. */
export interface WorkerConfig {
  /** The database. */
  readonly url: string;
  /** The schema. */
  readonly schema: string;
  /** The kinds that it declares. Default all but `newer`. */
  readonly kinds?: readonly KindName[];
  /** Whether its handlers are functions in its main thread. Default modules in threads. */
  readonly inline?: boolean;
  /** Jobs of the queue `default` at once. Default 5. */
  readonly concurrency?: number;
  /** Changes to {@linkcode SETTINGS}. */
  readonly settings?: Partial<Settings>;
  /** The period of the periodic `tick`, in ms, and where it writes. Default there is none. */
  readonly tick?: { readonly everyMs: number; readonly journal: string };
  /** The protocol that it speaks. Default that of this program. */
  readonly protocol?: number;
  /** Whether it works, or only migrates. Default it works. */
  readonly work?: boolean;
  /** Passed on. */
  readonly poolSize?: number;
  /** Passed on. */
  readonly acquireTimeoutMs?: number;
  /** Passed on. */
  readonly preparedStatements?: boolean;
}

/** What a runtime is built of, for a worker program and for the test beside it. */
export function runtimeOptions(config: WorkerConfig): CreateRuntimeOptions {
  const names = config.kinds ?? ["plain", "hold", "bomb", "hog", "capped", "fail"];
  const { poolSize, acquireTimeoutMs, preparedStatements } = config;
  return {
    url: config.url,
    schema: config.schema,
    registrars: [{ kinds: names.map((name) => kind(name, config.inline === true)) }, ticking(config)],
    queues: [
      { name: "default", concurrency: config.concurrency ?? 5 },
      { name: "second", concurrency: 5 },
    ],
    settings: { ...SETTINGS, ...config.settings },
    executor: { threads: 2, graceMs: 500 },
    log: silentLog,
    ...(poolSize === undefined ? {} : { poolSize }),
    ...(acquireTimeoutMs === undefined ? {} : { acquireTimeoutMs }),
    ...(preparedStatements === undefined ? {} : { preparedStatements }),
  };
}

const MODULES: Readonly<Record<KindName, string>> = {
  plain: "plain",
  hold: "hold",
  bomb: "bomb",
  hog: "hog",
  capped: "hog",
  fail: "fail",
  newer: "plain",
};

function kind(name: KindName, inline: boolean): Kind {
  const module = new URL(`handlers/${MODULES[name]}.ts`, import.meta.url);
  const handler: Handler = async (args, ctx) => (await import(module.href)).default(args, ctx);
  return {
    name,
    queue: "default",
    maxAttempts: 3,
    timeout: 60_000,
    backoff: () => 100,
    handler: inline && name !== "capped" ? handler : module,
    ...(name === "capped" ? { memory: 128 * 1024 * 1024 } : {}),
  };
}

function ticking({ tick }: WorkerConfig): { periodics: readonly Periodic[] } {
  if (tick === undefined) return { periodics: [] };
  const write: Handler = (_args, ctx) => {
    const entry = {
      event: "start",
      id: ctx.id,
      attempt: ctx.attempt,
      pid: Deno.pid,
      at: Date.now(),
      mark: null,
    };
    Deno.writeTextFileSync(tick.journal, JSON.stringify(entry) + "\n", { append: true });
  };
  return { periodics: [{ name: "tick", every: tick.everyMs, handler: write }] };
}
