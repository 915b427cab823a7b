/**
 * Runs the worker program and keeps it running (`deno task worker ./my_app.ts`). It imports next to nothing, to stay
 * small beside the process it watches. Workers notify it by signals (SIGUSR1 is not used because Deno opens the
 * debugger for it):
 *
 * - SIGURG from a worker: it has started; or, while it is stopping, it is done and now ends itself by force;
 * - SIGUSR2 from a worker: it will end itself soon, start the next one now.
 *
 * @module
 */

import { UNSTABLE_FLAGS } from "../workers/unstable_flags.ts";
import { chosenConfig } from "./application_place.ts";
import { parseArguments } from "./arguments.ts";
import { HEAP_FLAG } from "./heap_flag.ts";
import { warnOfProcessOne } from "./process_one.ts";
import { RestartDelay } from "./restart_delay.ts";
import { WORKER_ARGUMENTS } from "./worker_arguments.ts";

/** Under `deno task`, the terminal's Ctrl-C arrives twice: from the terminal, and forwarded by `deno task`. */
const SAME_SIGNAL_MS = 250;
const EXIT_CRASHED = 1;
const EXIT_CODES: Readonly<Record<string, number>> = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 };

interface Worker {
  readonly process: Deno.ChildProcess;
  readonly spawnedAt: number;
  /** It has reported that it started. */
  started: boolean;
  /** It has reported that it will end itself, so the next one was started. */
  leaving: boolean;
}

const workers = new Set<Worker>();
const delay = new RestartDelay();
let everStarted = false;
let stopping: { readonly at: number } | null = null;
let doneByForce = false;
let crashedWhileStopping = false;
let restart: ReturnType<typeof setTimeout> | undefined;

function log(level: string, event: string, fields: Record<string, string | number | null> = {}): void {
  const line = JSON.stringify({
    time: new Date().toISOString(),
    level,
    event,
    supervisor: Deno.pid,
    ...fields,
  });
  try {
    Deno.stdout.writeSync(new TextEncoder().encode(`${line}\n`));
  } catch {
    // The reader of the output is gone. That is no reason to leave the worker alone.
  }
}

/** The configuration by which the application resolves its imports, and whether the worker is to work at all. */
function commandLine(): { readonly config: string | null; readonly isWork: boolean } {
  try {
    const given = parseArguments(Deno.args, WORKER_ARGUMENTS);
    return { config: chosenConfig(given), isWork: !given.flags.has("help") };
  } catch {
    // The worker reports what is wrong with the command line.
    return { config: null, isWork: false };
  }
}

function start(): void {
  const { config, isWork } = commandLine();
  const process = new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "--allow-all",
      HEAP_FLAG,
      ...UNSTABLE_FLAGS,
      ...(config === null ? [] : ["--config", config]),
      new URL("./worker.ts", import.meta.url).href,
      ...Deno.args,
    ],
    env: { MILLRACE_SUPERVISOR_PID: String(Deno.pid) },
    // When it ends, the worker knows that this process is gone, however it ended.
    stdin: "piped",
    stdout: "inherit",
    stderr: "inherit",
  }).spawn();
  const worker: Worker = { process, spawnedAt: performance.now(), started: false, leaving: false };
  workers.add(worker);
  if (isWork) log("info", "worker starting", { pid: process.pid, config });
  process.status.then((status) => ended(worker, status));
}

function ended(worker: Worker, status: Deno.CommandStatus): void {
  workers.delete(worker);
  if (stopping !== null) {
    if (!status.success && !worker.leaving && !(status.signal === "SIGKILL" && doneByForce)) {
      crashedWhileStopping = true;
    }
    if (workers.size === 0) Deno.exit(crashedWhileStopping ? EXIT_CRASHED : 0);
    return;
  }
  if (worker.leaving) return;
  // Restarting doesn't fix a mistake that fails the first start. `--help` ends here too.
  if (!everStarted && status.signal === null) Deno.exit(status.code);
  const ranMs = performance.now() - worker.spawnedAt;
  const delayMs = delay.after({ started: worker.started, ranMs, signal: status.signal });
  log("error", "worker ended, starting another", {
    pid: worker.process.pid,
    code: status.code,
    signal: status.signal,
    delayMs,
  });
  restart = setTimeout(start, delayMs);
}

/** The newest worker that works or is about to; any older one has already reported that it is leaving. */
function newest(): Worker | undefined {
  return [...workers].findLast((worker) => !worker.leaving);
}

function replaceLeaving(): void {
  if (stopping !== null) return;
  const leaving = newest();
  if (leaving === undefined) return;
  leaving.leaving = true;
  log("warn", "worker recycles itself, starting the next", { pid: leaving.process.pid });
  start();
}

function stop(signal: Deno.Signal): void {
  if (stopping !== null && Date.now() - stopping.at < SAME_SIGNAL_MS) return;
  if (stopping !== null) {
    log("warn", "second signal, ending at once", { signal });
    for (const worker of workers) kill(worker, "SIGKILL");
    Deno.exit(EXIT_CODES[signal]);
  }
  stopping = { at: Date.now() };
  clearTimeout(restart);
  log("info", "stopping, a second signal ends at once", { signal });
  if (workers.size === 0) Deno.exit(0);
  for (const worker of workers) kill(worker, "SIGTERM");
}

function kill(worker: Worker, signal: Deno.Signal): void {
  try {
    worker.process.kill(signal);
  } catch {
    // It has already ended.
  }
}

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  Deno.addSignalListener(signal, () => stop(signal));
}
Deno.addSignalListener("SIGURG", () => {
  everStarted = true;
  if (stopping !== null) doneByForce = true;
  const started = newest();
  if (started !== undefined) started.started = true;
});
Deno.addSignalListener("SIGUSR2", replaceLeaving);
if (commandLine().isWork) warnOfProcessOne((event, fields) => log("warn", event, fields));
start();
