/** A module to be called: doubles a number; `"spin"` never ends, `"die"` ends its process, `"read"` reads a file. */
export default async function double(input: number | string): Promise<unknown> {
  if (input === "spin") { while (true); }
  if (input === "die") throw Deno.kill(Deno.pid, "SIGKILL");
  if (input === "read") return (await Deno.readTextFile("/etc/hostname")).length;
  return Number(input) * 2;
}
