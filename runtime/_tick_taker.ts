import type { Log } from "../ports/log.ts";
import type { Schedule } from "../ports/schedule.ts";
import type {
  DuePeriodics,
  PeriodicPlan,
  PeriodicRow,
  PeriodicTick,
  Store,
  TickPlace,
} from "../ports/store.ts";
import { inHalves } from "../shared/in_halves.ts";
import { isOfOthers, isOfTheMoment, isOutage } from "../shared/outage.ts";
import { type Declaration, isAhead, isSameSpec, planOf, type Turn, turnOf } from "./_periodic_plan.ts";
import { Refusals } from "./_refusals.ts";
import { dueTick } from "./_ticks.ts";

/** So many periodics are read and written at once. */
const BATCH = 500;

/**
 * Entries of ticks that were taken stay in an index while any transaction is old, so a look begins where the last one left
 * nothing behind; by so much earlier, for clocks of sessions differ, and from the beginning every so often, in ms.
 */
const LOOK_BACK_MS = 60_000;
const LOOK_WHOLE_MS = 60_000;

/** So many periodics are named in a line of the log. */
const NAMED_MAX = 10;

/** What is said when periodics lose their last process, or have one again. */
const TURNS: Readonly<Record<Turn, string>> = {
  "left": "periodics are declared by no process any more, they have no ticks",
  "made up for": "periodics are declared again, one run makes up for the ticks that passed",
  "back": "periodics are declared again, they go on where they were",
  "anew": "periodics are declared again, their ticks count from now",
};

/** What a {@linkcode TickTaker} needs. */
export interface TickTakerOptions {
  /** Where the periodics are. */
  readonly store: Store;
  /** Knows cron expressions. */
  readonly schedule: Schedule;
  /** For people. */
  readonly log: Log;
}

/** What a look at the periodics brought. */
export interface Ticks {
  /** The queues of the jobs that were enqueued. */
  readonly queues: ReadonlySet<string>;
  /** In how many ms the next tick comes; null when none does. */
  readonly nextMs: number | null;
  /** What is refused; null when nothing is. The log has been told. */
  readonly fault: Error | null;
}

/**
 * Takes the ticks of all periodics for the fleet: what is stored decides, whatever this process declares itself. When the
 * processes on the record change, it looks at what they declare and stores what holds from then on.
 */
export class TickTaker {
  readonly #options: TickTakerOptions;
  readonly #refusals: Refusals;
  /** Whether all that is stored must be compared with what living processes declare; or else which of it must. */
  #isAllUnplanned = true;
  #unplanned: ReadonlySet<string> = new Set();
  #fromMs: number | null = null;
  #wholeAt = -Infinity;
  #lastNowMs = -Infinity;

  /** Does nothing yet. */
  constructor(options: TickTakerOptions) {
    this.#options = options;
    this.#refusals = new Refusals(options.log);
  }

  /** Other processes may be on the record than before, or this one has not been taking ticks. */
  lookAnew(): void {
    this.#isAllUnplanned = true;
    this.#fromMs = null;
  }

  /**
   * Takes every tick that has come. What is refused holds up nothing else.
   *
   * @throws the store can't be reached: then no periodic is to blame.
   */
  async takeDue(): Promise<Ticks> {
    if (this.#isAllUnplanned) await this.#planAll();
    else await this.#planSome([...this.#unplanned].filter((name) => !this.#refusals.waits(name)));
    const queues = new Set<string>();
    const isWhole = this.#fromMs === null || performance.now() - this.#wholeAt >= LOOK_WHOLE_MS;
    if (isWhole) this.#wholeAt = performance.now();
    let after: TickPlace | null = isWhole ? null : { tickMs: this.#fromMs!, name: "" };
    let [nextMs, leftMs] = [Infinity, Infinity];
    for (;;) {
      const due = await this.#options.store.duePeriodics({ after, limit: BATCH });
      this.#watchClock(due.nowMs);
      const { comingMs, left } = await this.#takeAll(due, queues);
      nextMs = Math.min(nextMs, (comingMs ?? Infinity) - due.nowMs);
      leftMs = Math.min(leftMs, due.nowMs - LOOK_BACK_MS, ...left.map((row) => row.nextTickMs!));
      const last = due.rows.at(-1);
      if (last === undefined || due.rows.length < BATCH) break;
      after = { tickMs: last.nextTickMs!, name: last.name };
    }
    this.#fromMs = leftMs;
    return { queues, nextMs: Number.isFinite(nextMs) ? nextMs : null, fault: this.#refusals.fault };
  }

  /** Takes the ticks of a batch; tells when the next comes, and what could not be taken. */
  async #takeAll(
    { rows, nowMs, comingMs }: DuePeriodics,
    queues: Set<string>,
  ): Promise<{ comingMs: number | null; left: readonly PeriodicRow[] }> {
    const { store, schedule } = this.#options;
    const [ticks, passed]: [PeriodicTick[], PeriodicPlan[]] = [[], []];
    for (const row of rows) {
      if (row.spec === null || this.#refusals.waits(row.name)) continue;
      try {
        const { tickMs, nextTickMs } = dueTick(row, row.spec.schedule, schedule, nowMs);
        if (tickMs === null) passed.push(passedOver(row, nextTickMs));
        else ticks.push({ name: row.name, version: row.version, tickMs, nextTickMs });
      } catch (error) {
        // A newer program may know notations that this one does not.
        this.#refusals.add(row.name, error);
      }
    }
    const done = new Set<string>();
    await this.#inHalves(ticks, async (part) => {
      const taken = await store.takeTicks(part);
      for (const { name, queue } of taken) {
        done.add(name);
        queues.add(queue);
      }
    });
    await this.#inHalves(passed, async (part) => {
      for (const name of await store.planPeriodics(part)) done.add(name);
    });
    for (const name of done) this.#refusals.delete(name);
    const next = [...ticks, ...passed].filter(({ name }) => done.has(name)).map((each) => each.nextTickMs);
    return {
      comingMs: next.reduce((least, ms) => ms === null ? least : Math.min(least ?? Infinity, ms), comingMs),
      left: rows.filter(({ name }) => !done.has(name)),
    };
  }

  async #planAll(): Promise<void> {
    this.#isAllUnplanned = false;
    try {
      // What was refused may be declared no more.
      this.#refusals.clear();
      this.#unplanned = new Set();
      await this.#plan();
    } catch (error) {
      this.#isAllUnplanned = true;
      throw error;
    }
  }

  async #planSome(names: readonly string[]): Promise<void> {
    if (names.length > 0) await this.#plan(names);
  }

  /** Stores what living processes declare, where it is something else than what is stored. */
  async #plan(some?: readonly string[]): Promise<void> {
    const { store } = this.#options;
    const declared = await this.#declarations();
    const { nowMs, rows } = await store.periodics(some, { runs: false });
    const stored = new Map(rows.map((row) => [row.name, row]));
    const names = some ?? [...new Set([...declared.keys(), ...stored.keys()])];
    const plans = names
      .map((name) => this.#planOf(name, stored.get(name), declared.get(name) ?? [], nowMs))
      .filter((plan) => plan !== null);
    const done = new Set<string>();
    for (let from = 0; from < plans.length; from += BATCH) {
      await this.#inHalves(plans.slice(from, from + BATCH), async (part) => {
        for (const name of await store.planPeriodics(part)) done.add(name);
      });
    }
    if (done.size > 0) this.#fromMs = null;
    this.#tellTurns(plans.filter(({ name }) => done.has(name)), stored, nowMs);
    for (const name of done) this.#refusals.delete(name);
    const left = plans.map(({ name }) => name).filter((name) => !done.has(name));
    this.#unplanned = new Set([...[...this.#unplanned].filter((name) => !names.includes(name)), ...left]);
  }

  #tellTurns(
    plans: readonly PeriodicPlan[],
    stored: ReadonlyMap<string, PeriodicRow>,
    nowMs: number,
  ): void {
    const turns = Map.groupBy(plans, (plan) => turnOf(stored.get(plan.name), plan, nowMs));
    for (const [turn, turned] of turns) {
      if (turn === null) continue;
      const periodics = turned.slice(0, NAMED_MAX).map(({ name }) => name).join(", ");
      this.#options.log.info(TURNS[turn], { periodics, count: turned.length });
    }
  }

  #planOf(
    name: string,
    row: PeriodicRow | undefined,
    declarations: readonly Declaration[],
    nowMs: number,
  ): PeriodicPlan | null {
    const { schedule, log } = this.#options;
    try {
      const plan = planOf({ row, declarations, schedule, nowMs });
      if (plan !== null && row !== undefined && isAhead(row, schedule, nowMs)) {
        log.warn("the ticks of a periodic are further ahead than they can be, counting from now", {
          periodic: name,
        });
      }
      return plan;
    } catch (error) {
      this.#refusals.add(name, error);
      return null;
    }
  }

  /** What is declared of each periodic, different things only, the newest first. */
  async #declarations(): Promise<ReadonlyMap<string, Declaration[]>> {
    const byName = new Map<string, Declaration[]>();
    for (const { atMs, periodics } of await this.#options.store.declaredPeriodics()) {
      for (const periodic of periodics) {
        const known = byName.get(periodic.name);
        if (known === undefined) byName.set(periodic.name, [{ atMs, periodic }]);
        else if (!known.some((each) => isSameSpec(each.periodic, periodic))) known.push({ atMs, periodic });
      }
    }
    return byName;
  }

  /** Does something with many at once; what is refused is set aside. */
  async #inHalves<T extends { readonly name: string }>(
    items: readonly T[],
    work: (items: readonly T[]) => Promise<void>,
  ): Promise<void> {
    try {
      const { refused } = await inHalves(items, async (part) => {
        await work(part);
        return part.length;
      });
      for (const { item, error } of refused) this.#refusals.add(item.name, error);
    } catch (error) {
      if (isOutage(error) || isOfOthers(error) || isOfTheMoment(error)) throw error;
      // All of them were refused, and there is no telling which is to blame.
      for (const { name } of items) this.#refusals.add(name, error);
    }
  }

  /** When the store's clock was put back, ticks lie further ahead than they can. */
  #watchClock(nowMs: number): void {
    if (nowMs < this.#lastNowMs) this.lookAnew();
    this.#lastNowMs = nowMs;
  }
}

/** A periodic whose tick was taken by a program that does not store the next one. */
function passedOver(row: PeriodicRow, nextTickMs: number | null): PeriodicPlan {
  return {
    name: row.name,
    version: row.version,
    spec: row.spec!,
    declaredMs: row.declaredMs ?? 0,
    isDeclared: true,
    nextTickMs,
    countsAnew: false,
  };
}
