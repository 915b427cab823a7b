const EXIT_CODES: readonly (readonly [Deno.Signal, number])[] = [
  ["SIGINT", 130],
  ["SIGTERM", 143],
  ["SIGHUP", 129],
];
/** Under `deno task`, the terminal's Ctrl-C arrives twice: from the terminal, and forwarded by `deno task`. */
const SAME_SIGNAL_MS = 250;

/**
 * Handles Ctrl-C and similar signals: the first one asks a program to end in an orderly way, a second one ends it at
 * once.
 */
export class Interruption {
  readonly #controller = new AbortController();
  readonly #happened: PromiseWithResolvers<void> = Promise.withResolvers();
  readonly #onFirst: () => void;
  #first: { readonly at: number; readonly code: number } | null = null;

  /** Starts listening. `onFirst` is called at the first signal. */
  constructor(onFirst: () => void) {
    this.#onFirst = onFirst;
    for (const [signal, code] of EXIT_CODES) Deno.addSignalListener(signal, () => this.#signalled(code));
  }

  /** Aborts at the first signal. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Resolves at the first signal. */
  get happened(): Promise<void> {
    return this.#happened.promise;
  }

  /** The exit code of an interrupted program; null when it was not interrupted. */
  get code(): number | null {
    return this.#first?.code ?? null;
  }

  #signalled(code: number): void {
    if (this.#first !== null) {
      if (Date.now() - this.#first.at >= SAME_SIGNAL_MS) Deno.exit(code);
      return;
    }
    this.#first = { at: Date.now(), code };
    this.#onFirst();
    this.#happened.resolve();
    this.#controller.abort();
  }
}
