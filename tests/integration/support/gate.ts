/** A file that handlers wait for: they hold until a test opens the gate. */
export class Gate implements Disposable {
  /** Where the file will be; handlers get it in their args. */
  readonly path: string = `${Deno.env.get("TMPDIR") ?? "/tmp"}/millrace_gate_${crypto.randomUUID()}`;

  /** Lets everyone through who waits, and who will. */
  open(): void {
    Deno.writeTextFileSync(this.path, "");
  }

  /** Opens it, so that nobody is left behind, and leaves no file. */
  [Symbol.dispose](): void {
    try {
      Deno.removeSync(this.path);
    } catch {
      // It was never opened.
    }
  }
}
