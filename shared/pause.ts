/** Resolves after a time in ms, or as soon as the signal aborts. */
export async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  await new Pause().for(ms, signal);
}

/**
 * A pause that others can end early. One object serves a loop for its whole life, and any number of pauses at once:
 *
 *     no pause --for()--> pausing --time, end(), or the signal--> no pause
 */
export class Pause {
  readonly #ends = new Set<() => void>();

  /** Resolves after so many ms, at {@linkcode end}, or when the signal aborts. It leaves no timer and no listener. */
  async for(ms: number, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted) return;
    await new Promise<void>((resolve) => {
      const end = () => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", end);
        this.#ends.delete(end);
        resolve();
      };
      const timer = setTimeout(end, ms);
      signal?.addEventListener("abort", end);
      this.#ends.add(end);
    });
  }

  /** Ends the pauses under way. A later one is not affected. */
  end(): void {
    for (const end of [...this.#ends]) end();
  }
}
