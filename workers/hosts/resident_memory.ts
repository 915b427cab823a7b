/** The resident memory of a process in bytes; null when it has ended or can't be looked at. */
export async function residentMemory(pid: number): Promise<number | null> {
  try {
    if (Deno.build.os === "linux") {
      const kibibytes = /^VmRSS:\s+(\d+) kB$/m.exec(await Deno.readTextFile(`/proc/${pid}/status`))?.[1];
      return kibibytes === undefined ? null : Number(kibibytes) * 1024;
    }
    const { stdout } = await new Deno.Command("ps", { args: ["-o", "rss=", "-p", String(pid)] }).output();
    const kibibytes = Number(new TextDecoder().decode(stdout).trim());
    return kibibytes > 0 ? kibibytes * 1024 : null;
  } catch {
    return null;
  }
}
