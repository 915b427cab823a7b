import { eventually } from "../../conformance/eventually.ts";

/** Where Debian and others put it. */
const PROGRAMS = [
  "/usr/sbin/pgbouncer",
  "/usr/bin/pgbouncer",
  "/usr/local/bin/pgbouncer",
  "/opt/homebrew/bin/pgbouncer",
];

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
  private constructor(
    readonly url: string,
    readonly folder: string,
    readonly process: Deno.ChildProcess,
  ) {}

  /** Starts it on a free port. */
  static async start(program: string, databaseUrl: string): Promise<PgBouncer> {
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
`,
    );
    // It refuses to run as root.
    const asRoot = Deno.uid() === 0;
    if (asRoot) {
      await Deno.chmod(folder, 0o777);
      for (const file of ["users.txt", "pgbouncer.ini"]) await Deno.chmod(`${folder}/${file}`, 0o644);
    }
    const process = new Deno.Command(program, {
      args: [...(asRoot ? ["-u", "nobody"] : []), "-q", `${folder}/pgbouncer.ini`],
      stdin: "null",
      stdout: "null",
      stderr: "null",
    }).spawn();
    target.hostname = "127.0.0.1";
    target.port = String(port);
    const bouncer = new PgBouncer(target.href, folder, process);
    await eventually(async () => {
      (await Deno.connect({ hostname: "127.0.0.1", port })).close();
      return true;
    });
    return bouncer;
  }

  /** Ends it. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.process.kill("SIGKILL");
    await this.process.status;
    await Deno.remove(this.folder, { recursive: true });
  }
}

function freePort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return listener.addr.port;
}
