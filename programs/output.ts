import type { Log } from "../ports/log.ts";
import { createLog } from "../shared/log.ts";

/** Writes a complete line to standard output. */
export function writeOut(text: string): void {
  writeAll(Deno.stdout, text);
}

/** Writes a complete line to standard error. */
export function writeError(text: string): void {
  writeAll(Deno.stderr, text);
}

/** The programs' log: one JSON object per line on standard output. */
export function programLog(): Log {
  return createLog({ write: (line) => writeOut(`${line}\n`) });
}

function writeAll(to: { writeSync(bytes: Uint8Array): number }, text: string): void {
  const bytes = new TextEncoder().encode(text);
  for (let written = 0; written < bytes.length;) {
    try {
      written += to.writeSync(bytes.subarray(written));
    } catch (error) {
      // The reader of the output is gone. That is no reason to lose jobs.
      if (error instanceof Deno.errors.BrokenPipe) return;
      if (error instanceof Deno.errors.WouldBlock) continue;
      throw error;
    }
  }
}
