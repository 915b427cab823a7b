/** The user that the server runs as. PostgreSQL refuses to run as root. */
export interface Account {
  /** The user's id. */
  readonly uid: number;
  /** The id of its first group. */
  readonly gid: number;
}

/** Whoever owns a path. */
export async function ownerOf(path: string): Promise<Account> {
  const { uid, gid } = await Deno.stat(path);
  return { uid: uid ?? 0, gid: gid ?? 0 };
}

/** The account for a new data directory: null is one's own, `postgres` or `nobody` for root. */
export async function serverAccount(): Promise<Account | null> {
  if (Deno.uid() !== 0) return null;
  const passwd = await Deno.readTextFile("/etc/passwd").catch(() => "");
  // macOS keeps `nobody` as -2 there, which is this number to the kernel.
  const lines = passwd.split("\n").map((line) => line.split(":"));
  for (const name of ["postgres", "nobody"]) {
    const line = lines.find((fields) => fields[0] === name);
    if (line !== undefined) return { uid: Number(line[2]) >>> 0, gid: Number(line[3]) >>> 0 };
  }
  return { uid: 65534, gid: 65534 };
}

/** Whether an account can enter a directory, with all that is above it. */
export async function canEnter(account: Account | null, directory: string): Promise<boolean> {
  const { success } = await commandAs(account, "test", ["-x", directory]).output();
  return success;
}

/** Gives a path to the account, where it is not one's own. */
export async function giveTo(account: Account | null, path: string): Promise<void> {
  if (account !== null) await Deno.chown(path, account.uid, account.gid);
}

/**
 * A command run as the account, from a directory that everyone can enter. A session of its own keeps the terminal's
 * Ctrl-C away: it is for the program, which then ends what it has begun in order.
 */
export function commandAs(
  account: Account | null,
  program: string,
  args: string[],
  options: Deno.CommandOptions = {},
): Deno.Command {
  return new Deno.Command(program, {
    args,
    cwd: "/",
    detached: true,
    // PG* variables of the caller must not reach the server.
    clearEnv: true,
    env: { PATH: "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", LC_ALL: "C", TZ: "UTC" },
    stdin: "null",
    stdout: "null",
    stderr: "null",
    ...(account === null ? {} : account),
    ...options,
  });
}
