/**
 * The runtime program: works the jobs of an application's module. It usually runs under the supervisor, by `deno task
 * worker ./my_app.ts`. Without a supervisor it works the same way, but you must arrange for its restarts.
 *
 * @module
 */
import { createRuntime, type Log, type MigrateOptions, type PostgresRuntime } from "../mod.ts";
import type { LostThread } from "../ports/executor.ts";
import { type Application, loadApplication, queueNames } from "./application.ts";
import { chosenConfig } from "./application_place.ts";
import { type Arguments, integerOption, parseArguments, UsageError } from "./arguments.ts";
import { EMBEDDED_HELP, programDatabase } from "./database.ts";
import { consoleToLog, outputToLog } from "./handler_output.ts";
import { programLog, writeError, writeOut } from "./output.ts";
import { warnOfProcessOne } from "./process_one.ts";
import { schemaOption } from "./schema_option.ts";
import { WORKER_ARGUMENTS } from "./worker_arguments.ts";

const HELP = `Works the jobs of an application.

Usage: deno task worker [OPTIONS] MODULE
       deno run -A jsr:@millrace/millrace/worker [OPTIONS] MODULE

MODULE's default export is the composition: { registrars: [...], queues: [...], settings?, events? },
or what defineApp returns, with these two beside it if wanted: { ...defineApp({ ... }), settings }.
The database is that of DATABASE_URL. The tables are made or brought up to this program's version first, as far as older
programs can go on with that. Ctrl-C, SIGTERM and SIGHUP stop gracefully, a second signal at once.

  --queues a,b     work only these queues (default all)
  --threads N      worker threads, 1 to 256 (default the number of cores)
  --hosts N        host processes that attempts share, 1 to 1024 (default 4 per thread, at least 8)
  --schema NAME    the schema of Millrace's tables (default millrace)
  ${EMBEDDED_HELP}
  --migrate        make the steps of migrations too that older programs can't go on with
  --no-migrate     make no step: where the tables are too old, the start fails
  --config FILE    the deno.json by which the application, its threads and its host processes resolve imports (default
                   the nearest deno.json or deno.jsonc at or above MODULE's folder)
  --pooler         the database is behind a pooler in transaction mode, such as PgBouncer: no statement is prepared, and
                   where LISTEN can't work, work is found by polling
  --help           this text
  --               what follows is MODULE, whatever it begins with

Exit codes: 0 stopped gracefully; 1 could not start, or crashed; 2 the command line is wrong; 130 (SIGINT), 143
(SIGTERM), 129 (SIGHUP) ended at once by a second signal.
Standard output is one JSON object a line: time, level, event, and what belongs to it. What handlers print are lines
with the event "output": text, and kind and jobId where they are known. Mistakes are told on standard error.
A worker that has a thread which can't be ended recycles itself: it takes no more jobs, gives the others 5 s, gives
back what still runs, and ends itself; the supervisor has the next one up. It restarts a worker that crashed, too.
`;

/** The grace for the other jobs when the worker recycles itself, in ms. */
const RECYCLE_GRACE_MS = 5000;
/** The time limit for a recycle in all, in ms. Then the worker ends itself, whatever is still unfinished. */
const RECYCLE_MS_MAX = 9000;
const EXIT_FAILED = 1;
const EXIT_USAGE = 2;

const supervisorPid = Number(Deno.env.get("MILLRACE_SUPERVISOR_PID") ?? "") || null;
// Only this process reports to the supervisor, none that a handler starts.
Deno.env.delete("MILLRACE_SUPERVISOR_PID");

class WorkerProgram {
  readonly #log: Log = programLog();
  readonly #ended = Promise.withResolvers<number>();
  #runtime: PostgresRuntime | null = null;
  #ending: "stop" | "recycle" | null = null;

  async run(given: Arguments): Promise<number> {
    consoleToLog(this.#log);
    const threads = integerOption(given, "threads", 1, 256);
    const hosts = integerOption(given, "hosts", 1, 1024);
    const schema = schemaOption(given);
    const config = chosenConfig(given);
    const application = await loadApplication(given.words[0]!);
    const work = chosenQueues(given, application);
    const migrations = chosenMigrations(given);
    this.#watchSignals();
    this.#watchStrayErrors();
    warnOfProcessOne((event, fields) => this.#log.warn(event, fields));
    await using database = await programDatabase(given, this.#log);
    await using runtime = createRuntime({
      ...application,
      url: database.url,
      ...(schema === undefined ? {} : { schema }),
      ...(work === undefined ? {} : { work }),
      ...(given.flags.has("pooler") ? { preparedStatements: false } : {}),
      executor: {
        ...(threads === undefined ? {} : { threads }),
        ...(hosts === undefined ? {} : { hosts }),
        ...(config === null ? {} : { config }),
        output: outputToLog(this.#log),
      },
      log: this.#log,
      onThreadLost: (thread) => this.#recycle(thread),
    });
    if (this.#ending !== null) return 0;
    this.#runtime = runtime;
    try {
      if (migrations !== null) await runtime.migrate(migrations);
      if (this.#ending !== null) return 0;
      await runtime.start();
    } catch (error) {
      // A stop ends what this waits for, for example its turn to migrate.
      if (this.#ending === "stop") return await this.#ended.promise;
      throw error;
    }
    tellSupervisor("SIGURG");
    return await this.#ended.promise;
  }

  #watchSignals(): void {
    // The supervisor forwards SIGINT as SIGTERM; the terminal sends it to both.
    if (supervisorPid !== null) Deno.addSignalListener("SIGINT", () => {});
    const signals: Deno.Signal[] = supervisorPid === null ? ["SIGINT", "SIGTERM", "SIGHUP"] : ["SIGTERM"];
    for (const signal of signals) Deno.addSignalListener(signal, () => this.#signalled(signal));
    if (supervisorPid !== null) Deno.addSignalListener("SIGHUP", () => {});
    if (supervisorPid !== null) this.#stopWithSupervisor();
  }

  #signalled(signal: Deno.Signal): void {
    if (this.#ending === "stop" && supervisorPid === null) endAtOnce();
    if (this.#ending !== null) return;
    this.#log.info("stopping on a signal", { signal });
    this.#stop();
  }

  /** The supervisor holds the other end of standard input. */
  async #stopWithSupervisor(): Promise<void> {
    const bytes = new Uint8Array(64);
    while (await Deno.stdin.read(bytes).catch(() => null) !== null);
    if (this.#ending !== null) return;
    this.#log.warn("the supervisor is gone, stopping");
    this.#stop();
  }

  async #stop(): Promise<void> {
    this.#ending = "stop";
    let code = 0;
    try {
      await this.#runtime?.stop();
    } catch (error) {
      this.#log.error("could not stop in order", { error: (error as Error).message });
      code = EXIT_FAILED;
    }
    // A process with a spinning thread can't exit.
    if ((this.#runtime?.stats().lostThreads ?? 0) > 0) {
      if (code === 0) tellSupervisor("SIGURG");
      endAtOnce();
    }
    this.#ended.resolve(code);
  }

  async #recycle(thread: LostThread): Promise<void> {
    if (this.#ending !== null) return;
    this.#ending = "recycle";
    this.#log.warn("a thread can't be ended, recycling this process", {
      kind: thread.kind,
      jobId: thread.jobId,
      lost: thread.lost,
      graceMs: RECYCLE_GRACE_MS,
    });
    tellSupervisor("SIGUSR2");
    const timer = setTimeout(endAtOnce, RECYCLE_MS_MAX);
    await this.#runtime?.stop(RECYCLE_GRACE_MS).catch((error) => {
      this.#log.error("could not stop in order", { error: (error as Error).message });
    });
    clearTimeout(timer);
    this.#log.info("recycled");
    endAtOnce();
  }

  /** Errors that a handler left behind must not end the process that the others share. */
  #watchStrayErrors(): void {
    addEventListener("unhandledrejection", (event) => {
      if (event.defaultPrevented) return;
      event.preventDefault();
      this.#log.error("unhandled rejection", { error: textOf(event.reason) });
    });
    addEventListener("error", (event) => {
      if (event.defaultPrevented) return;
      event.preventDefault();
      this.#log.error("uncaught error", { error: textOf(event.error) });
    });
  }
}

function chosenQueues(given: Arguments, application: Application): string[] | undefined {
  const text = given.values.get("queues");
  if (text === undefined) return undefined;
  const names = text.split(",").map((name) => name.trim());
  const known = queueNames(application);
  for (const name of names) {
    if (!known.includes(name)) {
      throw new UsageError(
        `Cannot work the queue ${JSON.stringify(name)}: it is not declared, declared are ${known.join(", ")}`,
      );
    }
  }
  return names;
}

/** Which migration steps to run at start; null for none. */
function chosenMigrations({ flags }: Arguments): MigrateOptions | null {
  if (flags.has("migrate") && flags.has("no-migrate")) {
    throw new UsageError("Cannot use --migrate and --no-migrate together: expected one of them");
  }
  return flags.has("no-migrate") ? null : { breaking: flags.has("migrate") };
}

function tellSupervisor(signal: Deno.Signal): void {
  if (supervisorPid === null) return;
  try {
    Deno.kill(supervisorPid, signal);
  } catch {
    // The supervisor is gone; the end of standard input reports that too.
  }
}

function endAtOnce(): never {
  Deno.kill(Deno.pid, "SIGKILL");
  throw new Error("Still alive after SIGKILL");
}

function textOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.stack ?? thrown.message : String(thrown);
}

/** Runs the program and returns its exit code. */
async function main(): Promise<number> {
  try {
    const given = parseArguments(Deno.args, WORKER_ARGUMENTS);
    if (given.flags.has("help")) {
      writeOut(HELP);
      return 0;
    }
    if (given.words.length === 0) throw new UsageError("No module is given: deno task worker ./my_app.ts");
    return await new WorkerProgram().run(given);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    writeError(`${message}\n`);
    if (!(error instanceof UsageError)) return EXIT_FAILED;
    writeError("deno task worker --help tells more.\n");
    return EXIT_USAGE;
  }
}

if (import.meta.main) Deno.exit(await main());
