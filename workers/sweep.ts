/** One coarse timer for everything that has a limit: cheaper than a timer for each, late by at most its period. */
export class Sweep {
  #periodMs: number;
  #look: () => boolean;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** Calls `look` every `periodMs` for as long as it answers that something still runs. */
  constructor(periodMs: number, look: () => boolean) {
    this.#periodMs = periodMs;
    this.#look = look;
  }

  /** Begins, if it is not on already. */
  arm(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      if (this.#look()) this.arm();
    }, this.#periodMs);
  }

  /** Ends it. */
  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}
