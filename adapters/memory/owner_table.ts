import type { Owner } from "../../ports/store.ts";

/** The processes on one store, their heartbeats, and the leader's lease. */
export class OwnerTable {
  readonly #beats = new Map<string, number>();
  #lease: { readonly owner: string; readonly untilMs: number } | null = null;

  register(owner: Owner): void {
    this.#beats.set(owner.id, 1);
  }

  forget(owner: string): void {
    this.#beats.delete(owner);
  }

  has(owner: string): boolean {
    return this.#beats.has(owner);
  }

  /** Whether its last heartbeat is still this one. */
  stands(owner: string, beat: string): boolean {
    return String(this.#beats.get(owner)) === beat;
  }

  /** Renews a heartbeat; false when the process is no longer on the record. */
  beat(owner: string): boolean {
    const last = this.#beats.get(owner);
    if (last !== undefined) this.#beats.set(owner, last + 1);
    return last !== undefined;
  }

  /** Every process with the value of its last heartbeat. */
  all(): { id: string; beat: string }[] {
    return [...this.#beats].map(([id, beat]) => ({ id, beat: String(beat) }));
  }

  lead(owner: string, leaseMs: number, nowMs: number): boolean {
    const lease = this.#lease;
    if (lease !== null && lease.owner !== owner && lease.untilMs > nowMs) return false;
    this.#lease = { owner, untilMs: nowMs + leaseMs };
    return true;
  }

  resign(owner: string): void {
    if (this.#lease?.owner === owner) this.#lease = null;
  }
}
