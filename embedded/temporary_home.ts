import { type Account, canEnter, commandAs, giveTo } from "./account.ts";
import { EmbeddedPostgresError } from "./error.ts";

/**
 * Waits for a line, or for the end of its input, which the system brings about however the program ends. A line says
 * that the folder is gone. Without one the server may still be ending, or initdb be writing, so it tries for a while.
 * Only a child of this shell waits: what the program itself started can be ended together with it.
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

/** A folder that goes when this program ends, whichever way it ends. */
export interface TemporaryHome {
  /** Where it is. */
  readonly path: string;
  /** Removes it now. Idempotent. */
  remove(): Promise<void>;
}

/** Makes a temporary folder that the account can enter. */
export async function makeTemporaryHome(account: Account | null): Promise<TemporaryHome> {
  const parents = [Deno.env.get("TMPDIR") || "/tmp", "/tmp", "/var/tmp"];
  for (const parent of parents) {
    const home = await sweptHome(`${parent}/millrace-postgres-${crypto.randomUUID()}`);
    try {
      await Deno.mkdir(home.path, { mode: 0o700 });
      await giveTo(account, home.path);
      if (await canEnter(account, home.path)) return home;
    } catch {
      // There is no such parent, or it is not ours to write to.
    }
    await home.remove();
  }
  throw new EmbeddedPostgresError(
    `The database's user can make and enter a folder in none of ${parents.join(", ")}`,
  );
}

/** Whoever removes it at the end begins before it is there, so that it can't be missed. */
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
