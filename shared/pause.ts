/** Resolves after a time in ms, or as soon as the signal aborts. */
export async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  const pauses = new Pauses();
  const cut = () => pauses.cut();
  if (signal?.aborted) return;
  signal?.addEventListener("abort", cut);
  await pauses.wait(ms);
  signal?.removeEventListener("abort", cut);
}

/** Pauses that can be cut short, all at once. */
export class Pauses {
  readonly #ends: Set<() => void> = new Set();

  /** Resolves after a time in ms, or when the pauses are cut. */
  async wait(ms: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const end = () => {
        clearTimeout(timer);
        this.#ends.delete(end);
        resolve();
      };
      const timer = setTimeout(end, ms);
      this.#ends.add(end);
    });
  }

  /** Ends the pauses that are under way. */
  cut(): void {
    for (const end of [...this.#ends]) end();
  }
}
