import type { DeclaredKind, DeclaredPeriodic, Owner, PeriodicDeclaration } from "../../ports/store.ts";

/** A lease that runs for longer than this is not believed: so many times that which is asked for, at least 10 minutes. */
const BELIEVED_LEASES = 10;
const BELIEVED_MS_MIN = 10 * 60_000;

/** The heartbeat of a process whose rescue has begun. */
const GIVEN_UP = 0;

/** The processes on one store, their heartbeats, and the leader's lease. */
export class OwnerTable {
  readonly #beats = new Map<string, number>();
  readonly #queues = new Map<string, readonly string[]>();
  readonly #declared = new Map<
    string,
    {
      readonly atMs: number;
      readonly periodics: readonly DeclaredPeriodic[];
      readonly kinds: readonly DeclaredKind[];
    }
  >();
  #lease: { readonly owner: string; readonly untilMs: number } | null = null;

  register(owner: Owner, nowMs: number): void {
    this.#beats.set(owner.id, 1);
    this.#queues.set(owner.id, owner.queues);
    const { periodics = [], kinds = [] } = owner;
    this.#declared.set(owner.id, { atMs: Math.round(nowMs), periodics, kinds });
  }

  forget(owner: string): void {
    this.#beats.delete(owner);
    this.#queues.delete(owner);
    this.#declared.delete(owner);
  }

  /** Whether a process works this queue. */
  works(queue: string): boolean {
    return [...this.#queues.values()].some((queues) => queues.includes(queue));
  }

  /** What those on the record declare, the newest first. */
  declared(): PeriodicDeclaration[] {
    return [...this.#declared.values()]
      .filter(({ periodics }) => periodics.length > 0)
      .map(({ atMs, periodics }) => ({ atMs, periodics }))
      .reverse();
  }

  /** Of each kind what the newest of those on the record says of it. */
  kinds(): DeclaredKind[] {
    const newest = new Map<string, DeclaredKind>();
    for (const { kinds } of this.#declared.values()) {
      for (const kind of kinds) newest.set(kind.name, kind);
    }
    return [...newest.values()];
  }

  /** Whether a process is on the record, and its rescue has not begun. */
  isAlive(owner: string): boolean {
    return (this.#beats.get(owner) ?? GIVEN_UP) !== GIVEN_UP;
  }

  /** Whether its last heartbeat is still this one, or its rescue has begun. */
  isLost(owner: string, beat: string): boolean {
    const last = this.#beats.get(owner);
    return last === GIVEN_UP || String(last) === beat;
  }

  /** Its rescue has begun: it can't renew its heartbeat, and gets no more jobs. */
  giveUp(owner: string): void {
    this.#beats.set(owner, GIVEN_UP);
  }

  /** Renews a heartbeat; false when the process is not alive. */
  beat(owner: string): boolean {
    const isAlive = this.isAlive(owner);
    if (isAlive) this.#beats.set(owner, this.#beats.get(owner)! + 1);
    return isAlive;
  }

  /** Every process with the value of its last heartbeat. */
  all(): { id: string; beat: string }[] {
    return [...this.#beats].map(([id, beat]) => ({ id, beat: String(beat) }));
  }

  lead(owner: string, leaseMs: number, nowMs: number): boolean {
    const lease = this.#lease;
    // One that runs for much longer than one does was taken while the clock was ahead.
    const believedMs = nowMs + Math.max(BELIEVED_LEASES * leaseMs, BELIEVED_MS_MIN);
    if (
      lease !== null && lease.owner !== owner && lease.untilMs > nowMs && lease.untilMs <= believedMs
    ) return false;
    this.#lease = { owner, untilMs: nowMs + leaseMs };
    return true;
  }

  resign(owner: string): void {
    if (this.#lease?.owner === owner) this.#lease = null;
  }
}
