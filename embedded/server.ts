import { pause } from "../shared/pause.ts";
import { commandAs, giveTo } from "./account.ts";
import type { Cluster } from "./cluster.ts";
import { EmbeddedPostgresError } from "./error.ts";
import { isAlive, isPostgres, type Postmaster, readPostmaster } from "./postmaster_file.ts";

const START_MS_MAX = 30_000;
const POLL_MS = 15;
const PORT_TRIES = 5;

/**
 * Starts the server and ends it when nobody holds it any more. Every program that uses the server keeps the named pipe
 * `alive` open for writing. The system closes it however a program ends, SIGKILL included; when the last one ends, the
 * watching shell reads the end of the file. At first the shell opens the pipe for both reading and writing, because
 * opening it only for reading would wait for a program that may be gone. The shell repeats its signal because a server
 * that has not set its handlers yet ignores SIGINT, like every background command of a shell.
 */
const WATCH = `
home=$1; shift
exec 4<>"$home/alive" 3<"$home/alive" 4<&-
"$@" 3<&- </dev/null >>"$home/server.log" 2>&1 &
server=$!
(
  while read -r _; do :; done <&3
  exec 3<&-
  tries=50
  while [ $tries -gt 0 ]; do
    kill -INT $server
    sleep 0.2
    tries=$((tries - 1))
  done
  kill -QUIT $server
) >/dev/null 2>&1 &
watcher=$!
wait $server
code=$?
kill $watcher 2>/dev/null
exit $code
`;

/** This program's hold on a server, which keeps it running. */
export interface Hold {
  /** Releases the hold. The server ends when nobody else holds it. */
  release(): void;
}

/** A server started by this program. */
export interface Launched {
  /** What the server reports about itself. */
  readonly postmaster: Postmaster;
  /** The shell that watches the server, and ends with it. */
  readonly watcher: Deno.ChildProcess;
  /** This program's hold. */
  readonly hold: Hold;
}

/** Options for starting a server. */
export interface LaunchOptions {
  /** The port; a free one is chosen if omitted. */
  readonly port?: number | undefined;
  /** The server's settings. */
  readonly settings?: Readonly<Record<string, string>>;
}

/** Starts the server and waits until it accepts connections. */
export async function launch(cluster: Cluster, options: LaunchOptions): Promise<Launched> {
  if (options.port !== undefined) {
    if (!isFree(options.port)) throw portTaken(options.port);
    return await launchOn(cluster, options.port, options);
  }
  for (let attempt = 1;; attempt++) {
    try {
      return await launchOn(cluster, freePort(), options);
    } catch (error) {
      // Another program can take the port between our choosing it and using it.
      if (!(error instanceof EmbeddedPostgresError && isPortClash(error.message)) || attempt === PORT_TRIES) {
        throw error;
      }
    }
  }
}

async function launchOn(cluster: Cluster, port: number, options: LaunchOptions): Promise<Launched> {
  const { home, data, binaries, account } = cluster;
  await makePipe(cluster);
  const log = `${home}/server.log`;
  await Deno.remove(log).catch(() => {});
  const hold = holdServer(home);
  const settings = {
    listen_addresses: "127.0.0.1",
    port: String(port),
    unix_socket_directories: "",
    ...options.settings,
  };
  const watcher = commandAs(account, "/bin/sh", [
    "-c",
    WATCH,
    "millrace-postgres",
    home,
    `${binaries}/bin/postgres`,
    "-D",
    data,
    ...Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]),
  ]).spawn();
  watcher.unref();
  let ended = false;
  const end = watcher.status.then(() => ended = true);
  const deadline = performance.now() + START_MS_MAX;
  while (true) {
    const postmaster = await readPostmaster(data);
    // A killed server leaves such a file too.
    if (postmaster?.status === "ready" && postmaster.port === port && isAlive(postmaster.pid) && !ended) {
      return { postmaster, watcher, hold };
    }
    if (ended || performance.now() > deadline) {
      hold.release();
      const said = (await Deno.readTextFile(log).catch(() => "")).trim().split("\n").slice(-8).join("\n");
      if (isPortClash(said) && options.port !== undefined) throw portTaken(port);
      throw new EmbeddedPostgresError(
        ended
          ? `PostgreSQL ${cluster.version} did not start in ${data}:\n${said || "it said nothing"}`
          : `PostgreSQL ${cluster.version} was not ready in ${data} within ${START_MS_MAX} ms:\n${said}`,
      );
    }
    await Promise.race([end, pause(POLL_MS)]);
  }
}

/**
 * Holds a running server. Opening a named pipe for both reading and writing never blocks; opening it only for writing
 * would.
 */
export function holdServer(home: string): Hold {
  const pipe = Deno.openSync(`${home}/alive`, { read: true, write: true });
  const users = Deno.openSync(`${home}/users`, { read: true, write: true, create: true, mode: 0o600 });
  users.lockSync(false);
  let released = false;
  return {
    release: () => {
      if (released) return;
      released = true;
      users.close();
      pipe.close();
    },
  };
}

/** Whether no program holds the server. The caller has the folder's lock, so none can begin to. */
export async function isUnused(home: string): Promise<boolean> {
  using users = await Deno.open(`${home}/users`, { read: true, write: true, create: true, mode: 0o600 });
  return await users.tryLock(true);
}

/**
 * The server running on a data directory, once it is ready; null when there is none. Removes a file whose process id
 * now belongs to another program: the server would take that program for its predecessor and refuse to start.
 */
export async function findRunning(data: string): Promise<Postmaster | null> {
  const deadline = performance.now() + START_MS_MAX;
  while (true) {
    const postmaster = await readPostmaster(data);
    if (postmaster === null) return null;
    // The server recovers on its own from what a dead one left, and checks that no part of it is still alive.
    if (!isAlive(postmaster.pid)) return null;
    if (!await isPostgres(postmaster.pid)) {
      await Deno.remove(`${data}/postmaster.pid`).catch(() => {});
      return null;
    }
    if (postmaster.status === "ready") return postmaster;
    // It is starting or stopping right now.
    if (performance.now() > deadline) {
      throw new EmbeddedPostgresError(
        `The PostgreSQL with process id ${postmaster.pid} has been "${postmaster.status}" in ${data} ` +
          `for ${START_MS_MAX} ms`,
      );
    }
    await pause(POLL_MS);
  }
}

async function makePipe(cluster: Cluster): Promise<void> {
  const pipe = `${cluster.home}/alive`;
  await Deno.remove(pipe).catch(() => {});
  const { success, stderr } = await commandAs(cluster.account, "mkfifo", ["-m", "600", pipe], {
    stderr: "piped",
  }).output();
  if (!success) {
    throw new EmbeddedPostgresError(`Cannot make ${pipe}: ${new TextDecoder().decode(stderr).trim()}`);
  }
  await Deno.writeTextFile(`${cluster.home}/users`, "", { mode: 0o600 });
  await giveTo(cluster.account, `${cluster.home}/users`);
}

function freePort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return listener.addr.port;
}

function isFree(port: number): boolean {
  try {
    Deno.listen({ hostname: "127.0.0.1", port }).close();
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.AddrInUse) return false;
    throw error;
  }
}

function isPortClash(said: string): boolean {
  return said.includes("Address already in use") || said.includes("could not bind");
}

function portTaken(port: number): EmbeddedPostgresError {
  return new EmbeddedPostgresError(
    `Cannot start PostgreSQL on port ${port}: it is taken. Choose another, or none for a free one`,
  );
}
