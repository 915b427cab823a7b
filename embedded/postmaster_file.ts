import { kill } from "node:process";

/** What a running server records about itself. */
export interface Postmaster {
  /** The process id. */
  readonly pid: number;
  /** Its TCP port. */
  readonly port: number;
  /** `starting`, `ready`, `stopping` or `standby`. */
  readonly status: string;
}

/** Reads `postmaster.pid` from a data directory; null when there is none, or it is incomplete. */
export async function readPostmaster(data: string): Promise<Postmaster | null> {
  const text = await Deno.readTextFile(`${data}/postmaster.pid`).catch(() => null);
  return text === null ? null : parsePostmaster(text);
}

/** Parses the lines: pid, data directory, start time, port, socket directory, listen address, shared memory, status. */
export function parsePostmaster(text: string): Postmaster | null {
  const lines = text.split("\n");
  const pid = Number(lines[0]);
  const port = Number(lines[3]);
  if (!(pid > 0) || !(port > 0)) return null;
  return { pid, port, status: (lines[7] ?? "").trim() };
}

/** Whether a process with this id is alive, whoever owns it. */
export function isAlive(pid: number): boolean {
  try {
    return kill(pid, 0);
  } catch (error) {
    return (error as { code?: string }).code === "EPERM";
  }
}

/** Whether a process is a PostgreSQL server: after a reboot its id may belong to another program. */
export async function isPostgres(pid: number): Promise<boolean> {
  if (!isAlive(pid)) return false;
  const name = Deno.build.os === "linux"
    ? await Deno.readTextFile(`/proc/${pid}/comm`).catch(() => "")
    : new TextDecoder().decode(
      (await new Deno.Command("ps", { args: ["-o", "comm=", "-p", String(pid)], stderr: "null" }).output())
        .stdout,
    );
  return name.includes("postgres");
}
