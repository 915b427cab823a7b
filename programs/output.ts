import type { Log } from "../ports/log.ts";
import { createLog } from "../shared/log.ts";

/** Writes a line to standard output, whole. */
export function writeOut(text: string): void {
  writeAll(Deno.stdout, text);
}

/** Writes a line to standard error, whole. */
export function writeError(text: string): void {
  writeAll(Deno.stderr, text);
}

/** The log of the programs: one JSON object a line on standard output. */
export function programLog(): Log {
  return createLog({ write: (line) => writeOut(`${line}\n`) });
}

function writeAll(to: { writeSync(bytes: Uint8Array): number }, text: string): void {
  const bytes = new TextEncoder().encode(text);
  for (let written = 0; written < bytes.length;) {
    try {
      written += to.writeSync(bytes.subarray(written));
    } catch (error) {
      // Whoever read it has gone. That is no reason to lose jobs.
      if (error instanceof Deno.errors.BrokenPipe) return;
      if (error instanceof Deno.errors.WouldBlock) continue;
      throw error;
    }
  }
}
