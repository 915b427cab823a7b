import { DatabaseUnavailableError } from "../../../ports/errors.ts";
import type { Log } from "../../../ports/log.ts";
import type { Aside, Claimed, ClaimRequest } from "../../../ports/store.ts";
import type { TxParam, TxRow } from "../../../ports/tx.ts";
import { isRefusal } from "../../../shared/outage.ts";
import { arrayLiteral } from "../sql/sql_text.ts";
import type { Statements } from "../sql/statements.ts";
import type { AwakeMarks } from "../wakes/awake.ts";
import { AsidePositions, type AsideScan } from "./aside_positions.ts";
import { ClaimPositions, type Placed, type Position, type Scan } from "./claim_positions.ts";
import {
  CLAIM,
  CLAIM_AROUND,
  CLAIM_ASIDE,
  CLAIM_ASIDE_AROUND,
  CLAIM_THESE,
  DUE,
  DUE_ASIDE,
} from "./claim_sql.ts";
import { lookBehind } from "./look_behind.ts";
import type { LostClaims } from "./lost_claims.ts";
import { type DueJob, RefusedClaims } from "./refused_claims.ts";
import type { StartMarks } from "./start_marks.ts";

/** How long one claim looks for what is refused, in ms: what it has claimed meanwhile is waited for. The next one goes on. */
const NARROW_MS = 500;
/** How long it tries those again that were refused before, in ms. */
const RETRY_MS = 50;

/**
 * Claims jobs, each queue from where its last claim ended.
 *
 * A claim that the database refuses is made singly: the jobs that it would have taken are claimed by halves, down to the ones
 * that are to blame. Later claims are made around these, by statements of their own.
 */
export class Claimer {
  readonly #database: Statements;
  readonly #marks: StartMarks;
  readonly #lost: LostClaims;
  readonly #awake: AwakeMarks;
  readonly #log: Log;
  readonly #refused: Map<string, RefusedClaims> = new Map();
  /** Queues of which a claim did not get through all that may be refused. */
  readonly #unfinished: Set<string> = new Set();
  readonly #positions: Map<string, ClaimPositions> = new Map();
  /** By queue and kind. */
  readonly #aside: Map<string, AsidePositions> = new Map();

  /** Remembers nothing yet. */
  constructor(
    { database, marks, lost, awake, log }: {
      readonly database: Statements;
      readonly marks: StartMarks;
      readonly lost: LostClaims;
      readonly awake: AwakeMarks;
      readonly log: Log;
    },
  ) {
    this.#database = database;
    this.#marks = marks;
    this.#lost = lost;
    this.#awake = awake;
    this.#log = log;
  }

  /** Takes due jobs. The claims of one queue must not be made at the same time. */
  async claim(request: ClaimRequest): Promise<Claimed[]> {
    if (request.limit < 1) return [];
    await this.#lost.release(request.owner, request.queue);
    const claimed: Claimed[] = [];
    try {
      await this.#claimRefused(request, claimed);
      await this.#claimAround(request, claimed);
      await this.#claimAgain(request, claimed);
    } catch (error) {
      // What was claimed must reach the caller, who alone knows of it. The next claim looks again.
      if (claimed.length === 0) throw error;
    }
    return claimed;
  }

  /** Why jobs of a queue can't be claimed that claims are made around; null when there are none. */
  faultOf(queue: string): Error | null {
    return this.#refused.get(queue)?.fault ?? null;
  }

  /** In how many ms a queue should be claimed from again because of what was refused; else null. */
  refusedDueMs(queue: string): number | null {
    return this.#unfinished.has(queue) ? 0 : this.#refused.get(queue)?.dueMs() ?? null;
  }

  /** In how many ms a queue should be claimed from again because of what may lie behind its positions; else null. */
  lookDueMs(queue: string): number | null {
    return this.#positions.get(queue)?.lookDueMs() ?? null;
  }

  /** In how many ms it must be claimed from again because somebody may have woken nobody; else null. */
  awakeMs(queue: string): number | null {
    return this.#awake.pauseMs(queue);
  }

  /** How many ms ago the last claim from a queue began; 0 when there was none. */
  sinceClaimMs(queue: string): number {
    return this.#positions.get(queue)?.sinceBegunMs() ?? 0;
  }

  /** Jobs were found that lie aside: the next claims that name their kind begin at the start. */
  noteAside(found: readonly Aside[]): void {
    for (const aside of found) this.#asideOf(aside).reset();
  }

  /** Withdraws this process's marks. */
  async close(owner: string): Promise<void> {
    await this.#awake.withdrawAll(owner);
  }

  /** Claims once more, when there may be something that the claim could not see. */
  async #claimAgain(request: ClaimRequest, claimed: Claimed[]): Promise<void> {
    const { owner, queue, limit, free } = request;
    // Who enqueued while this process was marked as awake woke nobody.
    let mayBeMore = await this.#awake.note(queue, owner, { jobs: claimed.length, limit, free });
    const look = this.#positionsOf(queue).beginLook();
    if (look !== null) {
      const looking = lookBehind(this.#database, queue, look, this.#refused.get(queue)?.ids ?? null);
      // Whoever has jobs need not wait for it.
      if (claimed.length === 0 && await looking) mayBeMore = true;
    }
    if (mayBeMore) await this.#claimAround({ owner, queue, limit, free }, claimed);
  }

  /** Claims the rest of a request from the line; what the database refuses of it is found, and left out. */
  async #claimAround(request: ClaimRequest, claimed: Claimed[]): Promise<void> {
    const { queue, limit } = request;
    const deadline = performance.now() + NARROW_MS;
    const refused = this.#refusedOf(queue);
    this.#unfinished.delete(queue);
    while (claimed.length < limit) {
      const before = claimed.length + refused.size;
      try {
        claimed.push(...await this.#claimOnce(rest(request, claimed)));
        return;
      } catch (error) {
        if (!isRefusal(error)) throw error;
        const jobs = await this.#due(rest(request, claimed));
        // A claim of no job is refused because of none.
        await this.#claimThese(rest(request, claimed), []);
        await this.#claimInHalves(request, jobs, claimed, deadline);
        if (claimed.length + refused.size === before) throw error;
      }
      if (performance.now() > deadline) {
        this.#unfinished.add(queue);
        return;
      }
    }
  }

  /** Claims those again whose claim was refused and whose pause is over. */
  async #claimRefused(request: ClaimRequest, claimed: Claimed[]): Promise<void> {
    const jobs = this.#refused.get(request.queue)?.takeDue(request.limit) ?? [];
    await this.#claimInHalves(request, jobs, claimed, performance.now() + RETRY_MS);
  }

  /** Claims some jobs, if need be singly; at least one, and then no more after the deadline. */
  async #claimInHalves(
    request: ClaimRequest,
    jobs: readonly DueJob[],
    claimed: Claimed[],
    deadline: number,
  ): Promise<void> {
    if (jobs.length === 0) return;
    const refused = this.#refusedOf(request.queue);
    const before = refused.size;
    try {
      const taken = await this.#claimThese(rest(request, claimed), jobs);
      claimed.push(...taken);
      refused.delete(jobs);
      if (taken.length > 0 && refused.size < before) refused.retryAll();
      return;
    } catch (error) {
      if (!isRefusal(error)) throw error;
      if (jobs.length === 1) {
        refused.add(jobs[0]!, error);
        return;
      }
    }
    const middle = jobs.length >> 1;
    await this.#claimInHalves(request, jobs.slice(0, middle), claimed, deadline);
    if (performance.now() > deadline) return;
    await this.#claimInHalves(request, jobs.slice(middle), claimed, deadline);
  }

  #refusedOf(queue: string): RefusedClaims {
    const refused = this.#refused.get(queue) ?? new RefusedClaims(queue, this.#log);
    this.#refused.set(queue, refused);
    return refused;
  }

  #asideOf({ queue, kind }: Aside): AsidePositions {
    const key = JSON.stringify([queue, kind]);
    const positions = this.#aside.get(key) ?? new AsidePositions();
    this.#aside.set(key, positions);
    return positions;
  }

  #positionsOf(queue: string): ClaimPositions {
    const positions = this.#positions.get(queue) ?? new ClaimPositions();
    this.#positions.set(queue, positions);
    return positions;
  }

  async #claimOnce(request: ClaimRequest): Promise<Claimed[]> {
    const { scan, asideScan } = this.#scans(request);
    const seq = this.#marks.nextSeq();
    const rows = await this.#run(request, seq, scan.from, asideScan);
    const claimed = this.#note(request, seq, rows);
    const last = rows.filter((row) => row.due_at !== null);
    const isFull = rows.length >= request.limit;
    scan.end(last.filter((row) => row.aside !== true).map(toPlaced), isFull);
    asideScan?.end(last.filter((row) => row.aside === true).map(toPlaced), isFull);
    return claimed;
  }

  /** Claims these jobs, as far as they can be claimed. It moves no position. */
  async #claimThese(request: ClaimRequest, jobs: readonly DueJob[]): Promise<Claimed[]> {
    const { owner, queue, limit, free } = request;
    const seq = this.#marks.nextSeq();
    const ids = arrayLiteral(jobs.map(({ id }) => id));
    const rows = await this.#query(queue, CLAIM_THESE, [owner, queue, limit, free, String(seq), ids]);
    return this.#note(request, seq, rows);
  }

  /** What a claim would take. */
  async #due(request: ClaimRequest): Promise<DueJob[]> {
    const { queue, limit, aside } = request;
    const { scan, asideScan } = this.#scans(request);
    const params = [this.#refused.get(queue)?.ids ?? "{}", queue, limit, ...flat(scan.from)];
    const rows = asideScan === undefined
      ? await this.#database.query(DUE, params)
      : await this.#database.query(DUE_ASIDE, [
        ...params,
        aside!,
        String(asideScan.backMs),
        ...flat(asideScan.from),
      ]);
    return rows.map((row) => ({ id: String(row.id), kind: String(row.kind) }));
  }

  #scans({ queue, aside }: ClaimRequest): { scan: Scan; asideScan: AsideScan | undefined } {
    return {
      scan: this.#positionsOf(queue).begin(),
      asideScan: aside === undefined ? undefined : this.#asideOf({ queue, kind: aside }).begin(),
    };
  }

  #note(request: ClaimRequest, seq: number, rows: readonly TxRow[]): Claimed[] {
    const { owner, queue, free } = request;
    const claimed = rows.map(toClaimed);
    this.#lost.noteClaimed(owner, queue, claimed);
    this.#marks.noteStarted(owner, seq, claimed.slice(0, free).filter((job) => !job.alone));
    return claimed;
  }

  #run(
    request: ClaimRequest,
    seq: number,
    from: readonly Position[],
    aside: AsideScan | undefined,
  ): Promise<readonly TxRow[]> {
    const { owner, queue, limit, free } = request;
    const params = [owner, queue, limit, free, String(seq), ...flat(from)];
    if (aside !== undefined) params.push(request.aside!, String(aside.backMs), ...flat(aside.from));
    const except = this.#refused.get(queue)?.ids ?? null;
    if (except === null) return this.#query(queue, aside === undefined ? CLAIM : CLAIM_ASIDE, params);
    const around = aside === undefined ? CLAIM_AROUND : CLAIM_ASIDE_AROUND;
    return this.#query(queue, around, [...params, except]);
  }

  async #query(queue: string, text: string, params: readonly TxParam[]): Promise<readonly TxRow[]> {
    try {
      return await this.#database.query(text, params);
    } catch (error) {
      if (error instanceof DatabaseUnavailableError) this.#lost.noteLost(queue);
      throw error;
    }
  }
}

/** What is left of a request when some jobs are claimed. */
function rest(request: ClaimRequest, claimed: readonly Claimed[]): ClaimRequest {
  const { limit, free } = request;
  return {
    ...request,
    limit: Math.max(0, limit - claimed.length),
    free: Math.max(0, free - claimed.length),
  };
}

function flat(places: readonly Position[]): string[] {
  return places.flatMap(({ at, id }) => [at, id]);
}

function toClaimed(row: TxRow): Claimed {
  return {
    id: String(row.id),
    run: Number(row.run),
    kind: String(row.kind),
    attempt: Number(row.attempt),
    maxAttempts: Number(row.max_attempts),
    args: String(row.args),
    alone: row.alone === true,
  };
}

function toPlaced(row: TxRow): Placed {
  return { priority: Number(row.priority), at: String(row.due_at), id: String(row.id) };
}
