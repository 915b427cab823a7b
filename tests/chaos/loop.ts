import { pause } from "../conformance/eventually.ts";

/** Does one thing after another with pauses, until it is told to stop. */
export abstract class Loop {
  #stopped = false;
  #running: Promise<void> = Promise.resolve();

  /** Begins. */
  start(): void {
    this.#running = this.#run();
  }

  /** Begins nothing more, and resolves when what is under way has ended. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#running;
  }

  /** Does one thing. Resolves to the pause until the next, in ms. */
  protected abstract turn(): Promise<number>;

  async #run(): Promise<void> {
    while (!this.#stopped) await pause(await this.turn());
  }
}
