import postgres from "postgres";
import { commandAs, giveTo, serverAccount } from "../../../embedded/account.ts";
import { eventually, pause } from "../../conformance/eventually.ts";
import { TcpProxy } from "./tcp_proxy.ts";

/** Where Debian has its versions of PostgreSQL, whose packages hold what makes a standby. */
const VERSIONS = "/usr/lib/postgresql";
const START_MS_MAX = 60_000;
const USER = "postgres";

/** Ends the server when the program that started it is gone, however it ended: its end of the pipe is closed then. */
const WATCH = `
exec 3<&0
"$@" 3<&- </dev/null &
server=$!
(cat <&3 >/dev/null; kill -QUIT $server) &
watcher=$!
wait $server
code=$?
kill $watcher 2>/dev/null
exit $code
`;

/** Whether the primary waits for its standby before it acknowledges a commit. */
export type Replication = "synchronous" | "asynchronous";

/** The folder of an installed PostgreSQL that can make a standby, the newest first; null when there is none. */
export function findStandbyMaker(): string | null {
  try {
    const versions = [...Deno.readDirSync(VERSIONS)].map(({ name }) => name).toSorted().toReversed();
    return versions.map((version) => `${VERSIONS}/${version}/bin`).find((bin) => {
      try {
        return Deno.statSync(`${bin}/pg_basebackup`).isFile;
      } catch {
        return false;
      }
    }) ?? null;
  } catch {
    return null;
  }
}

/**
 * A primary and its streaming standby behind one address, as a database with a failover is. After a switch-over the
 * address leads to the server that was the standby.
 */
export class ServerPair implements AsyncDisposable {
  /** What the address leads through; it can do what a network does. */
  readonly address: TcpProxy;
  readonly #bin: string;
  readonly #folder: string;
  readonly #replication: Replication;
  #primary: Server;
  #standby: Server | null = null;
  #made = 1;

  private constructor(bin: string, folder: string, replication: Replication, primary: Server) {
    this.#bin = bin;
    this.#folder = folder;
    this.#replication = replication;
    this.#primary = primary;
    this.address = new TcpProxy(primary.url);
  }

  /** Makes both, and resolves when the standby follows. */
  static async start(bin: string, replication: Replication): Promise<ServerPair> {
    const folder = await Deno.makeTempDir({ prefix: "millrace_pair_" });
    await giveTo(await serverAccount(), folder);
    const primary = await Server.initialise(bin, `${folder}/server-1`);
    const pair = new ServerPair(bin, folder, replication, primary);
    try {
      await pair.addStandby();
      return pair;
    } catch (error) {
      await pair[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** The address, which stays the same. */
  get url(): string {
    return this.address.url;
  }

  /** The process id of the server that the address leads to. */
  get pid(): number {
    return this.#primary.pid;
  }

  /** Whether there is a standby that a switch-over can lead to. */
  get hasStandby(): boolean {
    return this.#standby !== null;
  }

  /** Makes a standby of the present primary, where there is none. */
  async addStandby(): Promise<void> {
    if (this.#standby !== null) return;
    const standby = await Server.copy(this.#bin, `${this.#folder}/server-${++this.#made}`, this.#primary);
    this.#standby = standby;
    await eventually(
      async () =>
        (await this.#primary.query("select from pg_stat_replication where state = 'streaming'")).length > 0,
      START_MS_MAX,
    );
    if (this.#replication === "synchronous") await this.#primary.set("synchronous_standby_names", "*");
  }

  /** Starts the primary anew, after a while; one that still runs is stopped in order first. */
  async restart(downMs = 0): Promise<void> {
    await this.#primary.stop("SIGINT");
    await pause(downMs);
    await this.#primary.start();
  }

  /** Resolves when the standby has all that the primary has written so far. */
  async untilStandbyHasAll(): Promise<void> {
    const behind = "select from pg_stat_replication where replay_lsn is distinct from pg_current_wal_lsn()";
    await eventually(async () => (await this.#primary.query(behind)).length === 0, START_MS_MAX);
  }

  /** What the standby receives from now on is nothing: an asynchronous primary goes on, and what it commits is its own. */
  async cutStandbyOff(): Promise<void> {
    await this.#standby!.set("primary_conninfo", "");
    await eventually(
      async () => (await this.#primary.query("select from pg_stat_replication")).length === 0,
      START_MS_MAX,
    );
  }

  /** The primary dies, the standby takes its place, and the address leads there after a while. */
  async switchOver(downMs = 0): Promise<void> {
    const standby = this.#standby;
    if (standby === null) throw new Error("Cannot switch over: there is no standby");
    const old = this.#primary;
    // First of all it must be gone: two primaries would both take writes.
    await old.stop("SIGKILL");
    this.address.refuse();
    await standby.promote();
    this.#standby = null;
    this.#primary = standby;
    await pause(downMs);
    this.address.lead(standby.url);
    this.address.restore();
    await old.remove();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.address[Symbol.asyncDispose]();
    await Promise.all([this.#primary.stop("SIGQUIT"), this.#standby?.stop("SIGQUIT")]);
    await Deno.remove(this.#folder, { recursive: true });
  }
}

/** One server with a folder and a port of its own. */
export class Server {
  readonly #bin: string;
  readonly #folder: string;
  readonly #port: number;
  #process: Deno.ChildProcess | null = null;
  #pid = 0;

  private constructor(bin: string, folder: string) {
    this.#bin = bin;
    this.#folder = folder;
    this.#port = freePort();
  }

  /** Makes and starts one in a folder that does not exist yet. */
  static async initialise(bin: string, folder: string): Promise<Server> {
    const server = new Server(bin, folder);
    await server.#run("initdb", [
      `--pgdata=${folder}`,
      `--username=${USER}`,
      "--auth=trust",
      "--encoding=UTF8",
      "--no-locale",
      "--no-sync",
    ]);
    await server.start();
    return server;
  }

  /** A standby that follows another server. */
  static async copy(bin: string, folder: string, of: Server): Promise<Server> {
    const server = new Server(bin, folder);
    await server.#run("pg_basebackup", [
      `--pgdata=${folder}`,
      `--dbname=${of.url}`,
      "--write-recovery-conf",
      "--wal-method=stream",
      "--checkpoint=fast",
      "--no-sync",
    ]);
    // The primary's own wish would have it wait for a standby of its own once it is promoted.
    await Deno.writeTextFile(`${folder}/postgresql.auto.conf`, "synchronous_standby_names = ''\n", {
      append: true,
    });
    await server.start();
    return server;
  }

  /** Where it is reached. */
  get url(): string {
    return `postgres://${USER}:${USER}@127.0.0.1:${this.#port}/postgres`;
  }

  /** Its process id. */
  get pid(): number {
    return this.#pid;
  }

  /** Starts it, where it doesn't run. */
  async start(): Promise<void> {
    if (this.#process !== null) return;
    const settings = {
      port: String(this.#port),
      listen_addresses: "127.0.0.1",
      unix_socket_directories: "",
      max_connections: "200",
      wal_level: "replica",
      hot_standby: "on",
    };
    this.#process = commandAs(await serverAccount(), "/bin/sh", [
      "-c",
      WATCH,
      "millrace-pair",
      `${this.#bin}/postgres`,
      "-D",
      this.#folder,
      ...Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]),
    ], { stdin: "piped" }).spawn();
    await eventually(() => this.#can("pg_isready", ["--dbname", this.url]), START_MS_MAX);
    this.#pid = Number((await Deno.readTextFile(`${this.#folder}/postmaster.pid`)).split("\n")[0]);
  }

  /** Ends it, and waits for its end. */
  async stop(signal: Deno.Signal): Promise<void> {
    const process = this.#process;
    if (process === null) return;
    this.#process = null;
    try {
      Deno.kill(this.#pid, signal);
    } catch {
      // It has ended by itself.
    }
    await process.status;
    await process.stdin.close().catch(() => {});
    // The children of one that was killed notice it a moment later.
    await eventually(() => isFree(this.#port), START_MS_MAX);
  }

  /** Makes the standby a primary. */
  async promote(): Promise<void> {
    await this.query("select pg_promote(true, 60)");
  }

  /** Changes a setting for good. */
  async set(name: string, value: string): Promise<void> {
    await this.query(`alter system set ${name} = '${value}'`);
    await this.query("select pg_reload_conf()");
  }

  /** Runs one statement on a connection of its own. */
  async query(text: string): Promise<readonly unknown[]> {
    const sql = postgres(this.url, { max: 1, onnotice: () => {}, connect_timeout: 5 });
    try {
      return await sql.unsafe(text);
    } finally {
      await sql.end({ timeout: 1 });
    }
  }

  /** Removes its folder. */
  async remove(): Promise<void> {
    await Deno.remove(this.#folder, { recursive: true });
  }

  async #run(program: string, args: string[]): Promise<void> {
    const { success, stderr } = await commandAs(await serverAccount(), `${this.#bin}/${program}`, args, {
      stderr: "piped",
    }).output();
    if (!success) throw new Error(`${program}: ${new TextDecoder().decode(stderr).trim()}`);
  }

  async #can(program: string, args: string[]): Promise<boolean> {
    return (await commandAs(await serverAccount(), `${this.#bin}/${program}`, args).output()).success;
  }
}

function freePort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return listener.addr.port;
}

function isFree(port: number): boolean {
  try {
    Deno.listen({ hostname: "127.0.0.1", port }).close();
    return true;
  } catch {
    return false;
  }
}
