import type { Claimed, Kind } from "../ports/mod.ts";

/**
 * Whether a job was running when a process died and is a function: it can have no host process for itself. It must not
 * take the same neighbours down again and again, until they are out of attempts.
 */
export function isSuspect(job: Claimed, kind: Kind): boolean {
  return job.alone && typeof kind.handler === "function";
}

/** One suspect at a time in the whole process, or none could tell which of them it was. */
export class SuspectTurn {
  #holder: object | null = null;

  /** Takes the turn, if nobody else has it. */
  take(holder: object): boolean {
    this.#holder ??= holder;
    return this.#holder === holder;
  }

  /** Gives it up, if it is held by this one. */
  pass(holder: object): void {
    if (this.#holder === holder) this.#holder = null;
  }
}
