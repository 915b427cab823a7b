import type { Attempt, AttemptOutcome, Executor, LostThread } from "../../ports/executor.ts";
import type { Jobs } from "../../ports/jobs.ts";
import type { Kind } from "../../ports/kind.ts";
import { createLog } from "../../shared/log.ts";
import { LocalExecutor } from "../executor.ts";
import type { ExecutorOptions, ExecutorTimes } from "../options.ts";

/** An executor, and what it told. */
export interface Fixture extends AsyncDisposable {
  readonly executor: Executor;
  readonly lines: string[];
  readonly printed: string[];
  readonly lost: LostThread[];
  /** Runs one attempt; progress is kept in `told`. */
  run(given: Partial<Omit<Kind, "args">> & Given): Running;
}

export interface Given {
  readonly id?: string;
  readonly args?: unknown;
  readonly argsText?: string;
  readonly attempt?: number;
  readonly alone?: boolean;
}

export interface Running {
  readonly id: string;
  readonly key: number;
  readonly ended: Promise<AttemptOutcome>;
  readonly told: { done: number; note: string | undefined }[];
  readonly endings: AttemptOutcome[];
}

export const HANDLERS: URL = new URL("./handlers.ts", import.meta.url);

export function fixture(
  { memoryWatchMs, hostIdleMs, standstillMs, ...options }: Partial<ExecutorOptions> & Partial<ExecutorTimes> =
    {},
  jobs?: Jobs,
): Fixture {
  const lines: string[] = [];
  const printed: string[] = [];
  const lost: LostThread[] = [];
  let ids = 0;
  const executor = new LocalExecutor({
    log: createLog({ write: (line) => lines.push(line), level: "debug" }),
    threads: 2,
    graceMs: 200,
    output: (line) => printed.push(line),
    ...options,
  }, { memoryWatchMs, hostIdleMs, standstillMs });
  executor.start({ onThreadLost: (thread) => lost.push(thread), ...(jobs === undefined ? {} : { jobs }) });
  return {
    executor,
    lines,
    printed,
    lost,
    run(given) {
      const kind: Kind = {
        name: given.name ?? "test.kind",
        queue: given.queue ?? "default",
        maxAttempts: given.maxAttempts ?? 5,
        timeout: given.timeout ?? 10_000,
        handler: given.handler ?? HANDLERS,
        ...(given.isolation === undefined ? {} : { isolation: given.isolation }),
        ...(given.permissions === undefined ? {} : { permissions: given.permissions }),
        ...(given.memory === undefined ? {} : { memory: given.memory }),
        ...(given.ownThread === undefined ? {} : { ownThread: given.ownThread }),
      };
      const attempt: Attempt = {
        id: given.id ?? `job-${++ids}`,
        run: 1,
        queue: kind.queue,
        attempt: given.attempt ?? 1,
        maxAttempts: kind.maxAttempts,
        args: given.argsText ?? JSON.stringify(given.args ?? {}),
        alone: given.alone ?? false,
        kind,
      };
      const { promise, resolve } = Promise.withResolvers<AttemptOutcome>();
      const told: { done: number; note: string | undefined }[] = [];
      const endings: AttemptOutcome[] = [];
      const key = executor.run(attempt, {
        progress: (done, note) => told.push({ done, note }),
        ended: (outcome) => {
          endings.push(outcome);
          resolve(outcome);
        },
      });
      return { id: attempt.id, key, ended: promise, told, endings };
    },
    [Symbol.asyncDispose]: () => executor.stop(),
  };
}
