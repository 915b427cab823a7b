import type postgres from "postgres";
import type { EmbeddedPostgres } from "../../../embedded/mod.ts";

/** Begins the names of the folders, before the id of the process whose they are. */
const PREFIX = "millrace_disk_";
const MIB = 1024 * 1024;

/**
 * A file system of its own in memory, small enough to be filled in a moment. To mount one takes root's rights.
 */
export class SmallDisk implements AsyncDisposable {
  /** Where it is. */
  readonly path: string;

  private constructor(path: string) {
    this.path = path;
  }

  /** Mounts one of so many bytes. Resolves to why that is not possible, where it is not. */
  static async mount(bytes: number): Promise<SmallDisk | string> {
    if (Deno.build.os !== "linux") return "that takes Linux";
    await removeLeftovers();
    const path = await Deno.makeTempDir({ prefix: `${PREFIX}${Deno.pid}_` });
    const fault = await run("mount", ["-t", "tmpfs", "-o", `size=${bytes},mode=0755`, "tmpfs", path]);
    if (fault === null) {
      // The server's user is another one, who must get there.
      await Deno.chmod(path, 0o755);
      return new SmallDisk(path);
    }
    await Deno.remove(path);
    return fault;
  }

  /** Makes the tablespace `small` on it. */
  async makeTablespace(server: EmbeddedPostgres, sql: postgres.Sql): Promise<void> {
    const { uid, gid } = await Deno.stat(server.directory);
    const folder = `${this.path}/data`;
    await Deno.mkdir(folder, { mode: 0o700 });
    await Deno.chown(folder, uid, gid);
    await sql.unsafe(`create tablespace small location '${folder}'`);
  }

  /** Makes it, and from now on every session of the server's database makes its tables there. */
  async takeTables(server: EmbeddedPostgres, sql: postgres.Sql): Promise<void> {
    await this.makeTablespace(server, sql);
    await sql.unsafe("alter database postgres set default_tablespace = small");
  }

  /** Fills it to the last byte. */
  async fill(): Promise<void> {
    using file = await Deno.open(this.#filler, { write: true, create: true });
    const bytes = new Uint8Array(MIB);
    try {
      for (;;) await file.write(bytes);
    } catch (error) {
      if (!isFull(error)) throw error;
    }
  }

  /** Takes away what filled it. */
  async free(): Promise<void> {
    await Deno.remove(this.#filler).catch(() => {});
  }

  /** Takes it away with all that is on it. */
  async [Symbol.asyncDispose](): Promise<void> {
    await unmount(this.path);
  }

  get #filler(): string {
    return `${this.path}/filler`;
  }
}

function isFull(error: unknown): boolean {
  return Reflect.get(error as Error, "code") === "ENOSPC" || /no space left/i.test((error as Error).message);
}

async function unmount(path: string): Promise<void> {
  if (await run("umount", [path]) !== null) await run("umount", ["--lazy", path]);
  await Deno.remove(path).catch(() => {});
}

/** A run that was killed has left its own mounted. */
async function removeLeftovers(): Promise<void> {
  const parent = Deno.env.get("TMPDIR") ?? "/tmp";
  for await (const { name } of Deno.readDir(parent)) {
    if (!name.startsWith(PREFIX)) continue;
    const pid = Number(name.slice(PREFIX.length).split("_")[0]);
    if (await Deno.stat(`/proc/${pid}`).then(() => false, () => true)) await unmount(`${parent}/${name}`);
  }
}

/** Runs a program. Resolves to what went wrong, or null. */
async function run(program: string, args: string[]): Promise<string | null> {
  try {
    const { success, stderr } = await new Deno.Command(program, { args, stdin: "null", stdout: "null" })
      .output();
    return success ? null : new TextDecoder().decode(stderr).trim();
  } catch (error) {
    return (error as Error).message;
  }
}
