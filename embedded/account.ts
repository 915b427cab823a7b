/** The user that the server runs as. PostgreSQL refuses to run as root. */
export interface Account {
  /** The user's id. */
  readonly uid: number;
  /** The id of its first group. */
  readonly gid: number;
}

/** The owner of a path. */
export async function ownerOf(path: string): Promise<Account> {
  const { uid, gid } = await Deno.stat(path);
  return { uid: uid ?? 0, gid: gid ?? 0 };
}

/** The account for a new data directory: null is the current user; for root it is `postgres` or `nobody`. */
export async function serverAccount(): Promise<Account | null> {
  if (Deno.uid() !== 0) return null;
  const passwd = await Deno.readTextFile("/etc/passwd").catch(() => "");
  // macOS stores the id of `nobody` as -2, which the kernel sees as this number.
  const lines = passwd.split("\n").map((line) => line.split(":"));
  for (const name of ["postgres", "nobody"]) {
    const line = lines.find((fields) => fields[0] === name);
    if (line !== undefined) return { uid: Number(line[2]) >>> 0, gid: Number(line[3]) >>> 0 };
  }
  return { uid: 65534, gid: 65534 };
}

/** Whether an account can enter a directory and all of its parents. */
export async function canEnter(account: Account | null, directory: string): Promise<boolean> {
  const { success } = await commandAs(account, "test", ["-x", directory]).output();
  return success;
}

/** Changes a path's owner to the account, unless it is the current user. */
export async function giveTo(account: Account | null, path: string): Promise<void> {
  if (account !== null) await Deno.chown(path, account.uid, account.gid);
}

/**
 * Builds a command that runs as the account, from a directory that everyone can enter. It runs in its own session so
 * that the terminal's Ctrl-C doesn't reach it: Ctrl-C is for the program, which then ends what it started in an orderly
 * way.
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
    // The caller's PG* variables must not reach the server.
    clearEnv: true,
    env: { PATH: "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", LC_ALL: "C", TZ: "UTC" },
    stdin: "null",
    stdout: "null",
    stderr: "null",
    ...(account === null ? {} : account),
    ...options,
  });
}
