const encoder = new TextEncoder();

/** Writes one line to standard output, whole. What can't be written is dropped: printing must not end a job. */
export function writeLine(line: string): void {
  const bytes = encoder.encode(line + "\n");
  try {
    for (let at = 0; at < bytes.length;) at += Deno.stdout.writeSync(bytes.subarray(at));
  } catch {
    // Nobody reads it any more.
  }
}
