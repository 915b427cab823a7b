import { eventually } from "../../conformance/eventually.ts";

/** Where Debian and others put it. */
const PROGRAMS = [
  "/usr/sbin/pgbouncer",
  "/usr/bin/pgbouncer",
  "/usr/local/bin/pgbouncer",
  "/opt/homebrew/bin/pgbouncer",
];

const START_MS_MAX = 20_000;

/** The installed PgBouncer, or null. */
export function findPgBouncer(): string | null {
  return PROGRAMS.find((path) => {
    try {
      return Deno.statSync(path).isFile;
    } catch {
      return false;
    }
  }) ?? null;
}

/** A PgBouncer in transaction mode in front of a database. */
export class PgBouncer implements AsyncDisposable {
  readonly #program: string;
  readonly #port: number;
  #process: Deno.ChildProcess;

  private constructor(
    readonly url: string,
    readonly folder: string,
    program: string,
    port: number,
  ) {
    this.#program = program;
    this.#port = port;
    this.#process = this.#spawn();
  }

  /** Starts it on a free port, with these settings beside its own. */
  static async start(
    program: string,
    databaseUrl: string,
    settings: Readonly<Record<string, string>> = {},
  ): Promise<PgBouncer> {
    const target = new URL(databaseUrl);
    const folder = await Deno.makeTempDir({ prefix: "millrace_pgbouncer_" });
    const port = freePort();
    const user = decodeURIComponent(target.username);
    const password = decodeURIComponent(target.password);
    const database = target.pathname.slice(1);
    await Deno.writeTextFile(`${folder}/users.txt`, `"${user}" "${password}"\n`);
    await Deno.writeTextFile(
      `${folder}/pgbouncer.ini`,
      `
[databases]
${database} = host=${target.hostname} port=${target.port || 5432} user=${user} password=${password}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = plain
auth_file = ${folder}/users.txt
pool_mode = transaction
default_pool_size = 10
max_client_conn = 200
logfile = ${folder}/pgbouncer.log
pidfile = ${folder}/pgbouncer.pid
${Object.entries(settings).map(([name, value]) => `${name} = ${value}`).join("\n")}
`,
    );
    if (isRoot()) {
      await Deno.chmod(folder, 0o777);
      for (const file of ["users.txt", "pgbouncer.ini"]) await Deno.chmod(`${folder}/${file}`, 0o644);
    }
    target.hostname = "127.0.0.1";
    target.port = String(port);
    const bouncer = new PgBouncer(target.href, folder, program, port);
    await bouncer.#untilItListens();
    return bouncer;
  }

  /** Kills it, and starts it again on the same port after a while. */
  async restart(downMs: number): Promise<void> {
    await this.#kill();
    await Deno.remove(`${this.folder}/pgbouncer.pid`).catch(() => {});
    await new Promise((resolve) => setTimeout(resolve, downMs));
    this.#process = this.#spawn();
    await this.#untilItListens();
  }

  /** Ends it. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#kill();
    await Deno.remove(this.folder, { recursive: true });
  }

  #spawn(): Deno.ChildProcess {
    return new Deno.Command(this.#program, {
      // It refuses to run as root.
      args: [...(isRoot() ? ["-u", "nobody"] : []), "-q", `${this.folder}/pgbouncer.ini`],
      stdin: "null",
      stdout: "null",
      stderr: "null",
    }).spawn();
  }

  async #kill(): Promise<void> {
    try {
      this.#process.kill("SIGKILL");
    } catch {
      // It has ended.
    }
    await this.#process.status;
  }

  async #untilItListens(): Promise<void> {
    await eventually(async () => {
      (await Deno.connect({ hostname: "127.0.0.1", port: this.#port })).close();
      return true;
    }, START_MS_MAX);
  }
}

function isRoot(): boolean {
  return Deno.uid() === 0;
}

function freePort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return listener.addr.port;
}
