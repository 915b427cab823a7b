import { TransactionConflictError, UniqueConflictError, UniqueKeyHeldError } from "../../ports/errors.ts";
import { isFinal, type JobId } from "../../ports/job.ts";
import type { KeyRule } from "../../ports/key_rule.ts";
import type { DeclaredKind, Inserted, NewJob } from "../../ports/store.ts";
import { UNIQUE_BY_ARGS } from "../../shared/key_rule.ts";
import { isSuperseded, type JobRow, newRow, waits } from "./job_row.ts";
import type { OwnerTable } from "./owner_table.ts";
import { LOCK_WAIT_MS, type Staged } from "./transactions.ts";
import { dueMs, isSameRule, keepsOut, metRow, supersededBy, uniqueKey } from "./unique_key.ts";
import type { Versions } from "./versions.ts";

/** Writes new jobs, keeps twins out, and lets a job that comes back in line make way for its newer twin. */
export class Twins {
  readonly #versions: Versions;
  readonly #owners: OwnerTable;
  readonly #clock: () => number;
  /** What was declared last of the twins of a kind. */
  readonly #rules = new Map<string, KeyRule>();
  #lastSeq = 0;

  constructor(versions: Versions, owners: OwnerTable, clock: () => number) {
    this.#versions = versions;
    this.#owners = owners;
    this.#clock = clock;
  }

  /** Of kinds their rules are all that is stored. Returns the names of those that had another one. */
  storeKinds(kinds: readonly DeclaredKind[]): string[] {
    const changed = kinds.filter(({ name, rule }) => !isSameRule(this.#rules.get(name), rule));
    for (const { name, rule } of changed) {
      if (rule === undefined) this.#rules.delete(name);
      else this.#rules.set(name, rule);
    }
    return changed.map(({ name }) => name);
  }

  /**
   * Writes jobs, all or none.
   *
   * @throws {UniqueKeyHeldError} an open transaction has held one of their keys for too long.
   */
  async insert(jobs: readonly NewJob[], mine: Staged | undefined): Promise<Inserted[]> {
    const keyed = jobs.flatMap((job) => {
      const key = this.#keyOf(job, this.#ruleOf(job));
      return key === null ? [] : [{ kind: job.kind, key }];
    });
    try {
      const keys = keyed.map(({ key }) => key);
      return await this.#versions.withFreeKeys(
        keys,
        mine,
        () => jobs.map((job) => this.add(job, null, mine)),
      );
    } catch (error) {
      if (mine !== undefined || !(error instanceof TransactionConflictError)) throw error;
      throw new UniqueKeyHeldError(keyed[0]!.kind, LOCK_WAIT_MS, { cause: error.cause });
    }
  }

  /** Writes one job, or finds the twin that keeps it out. */
  add(job: NewJob, periodic: string | null, mine?: Staged): Inserted {
    const nowMs = this.#clock();
    const rule = this.#ruleOf(job);
    const due = dueMs(job, rule, nowMs);
    const key = this.#keyOf(job, rule);
    const holder = key === null ? undefined : this.#versions.holder(key, mine);
    const twin = holder === undefined ? undefined : this.#versions.row(holder, mine);
    if (twin !== undefined && keepsOut(twin, rule!, nowMs)) {
      const queue = this.#queueOf(twin, job);
      this.#meet(twin, metRow(twin, { args: job.args, dueMs: due, queue }, rule!, nowMs), mine);
      return { id: twin.id, existed: true };
    }
    const row = newRow(job, { seq: ++this.#lastSeq, key, periodic, nowMs, dueMs: due });
    this.#versions.write(row, mine);
    if (key !== null) this.#versions.hold(key, row.id, mine);
    mine?.signals.push({ type: "ready", queue: row.queue });
    return { id: row.id, existed: false };
  }

  /**
   * A run has ended. Back in line its job takes its key again where nobody who lives has it; else it makes way, and the twin
   * is due when the job would have been.
   */
  endRun(row: JobRow, end: (supersededBy: JobId | null) => JobRow, delayMs: number): JobRow {
    const { jobs } = this.#versions;
    const holder = row.key === null ? undefined : jobs.holder(row.key);
    const twin = supersededBy(row, holder === undefined ? undefined : jobs.get(holder));
    const next = end(twin?.id ?? null);
    jobs.put(next);
    if (twin === null) {
      if (next.key !== null && waits(next)) jobs.hold(next.key, next.id);
    } else if (isSuperseded(row, next)) this.#makeDueBy(twin, delayMs);
    return next;
  }

  /**
   * Checks that no other job keeps an ended one out.
   *
   * @throws {UniqueConflictError} one does.
   */
  checkFree({ id, kind, key }: JobRow): void {
    const holder = this.#versions.jobs.holder(key!);
    if (holder === undefined || holder === id) return;
    const rule = this.#rules.get(kind) ?? UNIQUE_BY_ARGS;
    if (keepsOut(this.#versions.jobs.get(holder)!, rule, this.#clock())) {
      throw new UniqueConflictError(id, holder);
    }
  }

  #ruleOf({ kind, rule, unique }: NewJob): KeyRule | null {
    return this.#rules.get(kind) ?? rule ?? (unique ? UNIQUE_BY_ARGS : null);
  }

  #keyOf(job: NewJob, rule: KeyRule | null): string | null {
    return rule === null ? null : uniqueKey(job, rule);
  }

  /** A job keeps a twin out, and is changed by it perhaps. What was judged of it stays so until the transaction ends. */
  #meet(row: JobRow, next: JobRow, mine: Staged | undefined): void {
    if (!isFinal(row.state)) mine?.judged.add(row.id);
    if (next === row) return;
    this.#versions.write(next, mine);
    this.#versions.signal({ type: "ready", queue: next.queue }, mine);
  }

  /** Where a twin's job waits: in a queue that nobody works any more it would keep all that comes from ever being run. */
  #queueOf(twin: JobRow, { queue }: NewJob): string {
    return !this.#owners.works(twin.queue) && this.#owners.works(queue) ? queue : twin.queue;
  }

  /** The twin that took a job's place takes its due time, if that is earlier; a debounced one is due soon anyway. */
  #makeDueBy(twin: JobRow, delayMs: number): void {
    const rule = this.#rules.get(twin.kind) ?? UNIQUE_BY_ARGS;
    if (rule.debounce !== null || this.#versions.isLocked(twin.id)) return;
    const nowMs = this.#clock();
    const { args, queue } = twin;
    this.#meet(twin, metRow(twin, { args, dueMs: nowMs + delayMs, queue }, rule, nowMs), undefined);
  }
}
