import { type Account, canEnter, commandAs, giveTo } from "./account.ts";
import { EmbeddedPostgresError } from "./error.ts";

/**
 * Waits for a line or for the end of its input; the system closes the input however the program ends. A line means that
 * the folder has been removed. Otherwise the server may still be ending, or initdb be writing, so it keeps trying for a
 * while. Only a child of this shell waits, because the program's own children can be killed together with it.
 */
const SWEEP = `
home=$1
exec 3<&0
(
  read -r _ <&3 && exit
  left=300
  while [ $left -gt 0 ]; do
    left=$((left - 1))
    pid=$(head -n 1 "$home/data/postmaster.pid" 2>/dev/null)
    if [ $left -lt 150 ] || [ -z "$pid" ] || ! kill -0 "$pid"; then
      rm -rf "$home"
      # An initdb that has just begun makes the folder anew, so one look is not enough.
      [ -e "$home" ] || [ $left -lt 20 ] || left=20
    fi
    sleep 0.1
  done
) >/dev/null 2>&1 &
`;

/** A folder that is removed when this program ends, however it ends. */
export interface TemporaryHome {
  /** The folder's path. */
  readonly path: string;
  /** Removes it now. Idempotent. */
  remove(): Promise<void>;
}

/** Creates a temporary folder that the account can enter. */
export async function makeTemporaryHome(account: Account | null): Promise<TemporaryHome> {
  const parents = [Deno.env.get("TMPDIR") || "/tmp", "/tmp", "/var/tmp"];
  for (const parent of parents) {
    const home = await sweptHome(`${parent}/millrace-postgres-${crypto.randomUUID()}`);
    try {
      await Deno.mkdir(home.path, { mode: 0o700 });
      await giveTo(account, home.path);
      if (await canEnter(account, home.path)) return home;
    } catch {
      // The parent doesn't exist, or we can't write to it.
    }
    await home.remove();
  }
  throw new EmbeddedPostgresError(
    `The database's user can make and enter a folder in none of ${parents.join(", ")}`,
  );
}

/** Starts the process that removes the folder before the folder exists, so that it is never left behind. */
async function sweptHome(path: string): Promise<TemporaryHome> {
  const shell = commandAs(null, "/bin/sh", ["-c", SWEEP, "millrace-sweeper", path], { stdin: "piped" })
    .spawn();
  await shell.status;
  const remove = async () => {
    await Deno.remove(path, { recursive: true }).catch(() => {});
    if (await Deno.lstat(path).then(() => true, () => false)) return await shell.stdin.close();
    const writer = shell.stdin.getWriter();
    await writer.write(new TextEncoder().encode("gone\n"));
    await writer.close();
  };
  let removed: Promise<void> | null = null;
  return { path, remove: () => removed ??= remove().catch(() => {}) };
}
