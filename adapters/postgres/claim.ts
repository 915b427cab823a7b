import { DatabaseUnavailableError } from "../../ports/errors.ts";
import type { Aside, Claimed, ClaimRequest } from "../../ports/store.ts";
import type { TxRow } from "../../ports/tx.ts";
import type { AwakeMarks } from "./awake.ts";
import { AsidePositions, type AsideScan } from "./aside_positions.ts";
import { ClaimPositions, type Placed, type Position } from "./claim_positions.ts";
import { lookBehind } from "./look_behind.ts";
import type { LostClaims } from "./lost_claims.ts";
import { GIVEN_UP } from "./rescue.ts";
import { placeSql } from "./sql_text.ts";
import type { StartMarks } from "./start_marks.ts";
import type { Statements } from "./statements.ts";

/**
 * The due jobs of one priority behind a position, oldest first. The order and the row comparison are those of the
 * ready index, so the scan begins at the position and reads no row that it does not return.
 */
function branch(priority: number, at: string, id: string, more = ""): string {
  return `
    select * from (
      select ctid as place, ${priority} as priority, scheduled_at${more}
      from {schema}.job
      where queue = $2::text
        and priority = ${priority}
        and state in ('pending', 'retryable')
        and scheduled_at <= statement_timestamp()
        and (scheduled_at, id) > (${at}::text::timestamptz, ${id}::text::bigint)
      order by scheduled_at, id
      limit $3::int
      for update skip locked
    ) as priority_${priority}`;
}

/** The jobs of one kind that lie aside, of one priority and behind a position, in the order in which they were put aside. */
function asideBranch(priority: number, at: string, id: string): string {
  return `
    select * from (
      select ctid as place, ${priority} as priority, scheduled_at, true as aside
      from {schema}.job
      where undeclared
        and queue = $2::text
        and kind = $14::text
        and priority = ${priority}
        and state <> 'running'
        and (scheduled_at, id) > (
          ${at}::text::timestamptz - $15::text::int * interval '1 ms', ${id}::text::bigint
        )
      order by scheduled_at, id
      limit $3::int
      for update skip locked
    ) as aside_${priority}`;
}

/**
 * The branches are read one after the other, and a later one only when the earlier ones did not fill the limit: that
 * makes priority strict. A process that is not on the record (it was rescued) gets nothing, for nobody would miss its
 * jobs; the lock on its row makes a rescue wait for a claim that has begun. Nor does one whose rescue has begun, for what
 * it got would be rescued too; nor one whose protocol is too old, nor anybody while the queue is paused.
 */
function claim(branches: readonly string[], { aside }: { readonly aside: boolean }): string {
  return `
  with alive as materialized (
    select 1
    from {schema}.worker
    where id = $1::text::uuid and not outdated and heartbeat_at > ${GIVEN_UP}
    for key share
  ), due as materialized (
    select place, priority, scheduled_at, ${aside ? "aside, " : ""}row_number() over () as ord
    from (
      select * from (
        ${branches.join("\n        union all\n")}
      ) as branches
      limit case
        when exists (select from alive)
          and not exists (select from {schema}.queue where name = $2::text and paused_at is not null)
        then $3::int else 0
      end
    ) as first
  ), claimed as (
    update {schema}.job
    set state = 'running', run = job.run + 1, attempt = job.attempt + 1, owner = $1::text::uuid,
      claimed_at = clock_timestamp()${aside ? ASIDE_NO_MORE : ""}
    from due
    where job.ctid = due.place
    returning due.ord, due.scheduled_at as due_at, due.priority, ${aside ? "due.aside, " : ""}
      job.id, job.run, job.kind, job.attempt, job.max_attempts, job.args, job.alone
  ), marked as (
    insert into {schema}.start_mark (owner, seq, job_ids, runs)
    select $1::text::uuid, $5::text::bigint, array_agg(id order by ord), array_agg(run order by ord)
    from claimed
    where ord <= $4::int and not alone
    having count(*) > 0
  )
  select
    id, run, kind, attempt, max_attempts, args::text as args, alone, ${aside ? "aside, " : ""}
    case when is_last then priority end as priority,
    case when is_last then ${placeSql("due_at")} end as due_at
  from (
    -- The place of each row would be known, but only the last of each priority is of use, and the text costs.
    select claimed.*, ord in (select max(ord) from claimed group by priority${
    aside ? ", aside" : ""
  }) as is_last
    from claimed
  ) as claimed
  order by ord`;
}

const ASIDE_NO_MORE = `, undeclared = false,
      scheduled_at = case when due.aside then clock_timestamp() else job.scheduled_at end`;

const PLACES = [["$6", "$7"], ["$8", "$9"], ["$10", "$11"], ["$12", "$13"]] as const;
const ASIDE_PLACES = [["$16", "$17"], ["$18", "$19"], ["$20", "$21"], ["$22", "$23"]] as const;

/** Claims from the ready order. */
export const CLAIM: string = claim(
  PLACES.map(([at, id], line) => branch(line + 1, at, id)),
  { aside: false },
);

/** The same and what lies aside of one kind, which has waited longer. */
export const CLAIM_ASIDE: string = claim(
  PLACES.flatMap(([at, id], line) => {
    const [asideAt, asideId] = ASIDE_PLACES[line]!;
    return [asideBranch(line + 1, asideAt, asideId), branch(line + 1, at, id, ", false as aside")];
  }),
  { aside: true },
);

/** Claims jobs, each queue from where its last claim ended. */
export class Claimer {
  readonly #database: Statements;
  readonly #marks: StartMarks;
  readonly #lost: LostClaims;
  readonly #awake: AwakeMarks;
  readonly #positions: Map<string, ClaimPositions> = new Map();
  /** By queue and kind. */
  readonly #aside: Map<string, AsidePositions> = new Map();

  /** Remembers nothing yet. */
  constructor(database: Statements, marks: StartMarks, lost: LostClaims, awake: AwakeMarks) {
    this.#database = database;
    this.#marks = marks;
    this.#lost = lost;
    this.#awake = awake;
  }

  /** Takes due jobs. The claims of one queue must not be made at the same time. */
  async claim(request: ClaimRequest): Promise<Claimed[]> {
    if (request.limit < 1) return [];
    await this.#lost.release(request.owner, request.queue);
    const claimed = await this.#claimOnce(request);
    try {
      return [...claimed, ...await this.#claimAgain(request, claimed.length)];
    } catch (error) {
      // What was claimed must reach the caller, who alone knows of it. The next claim looks again.
      if (claimed.length === 0) throw error;
      return claimed;
    }
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
  async #claimAgain(request: ClaimRequest, claimed: number): Promise<Claimed[]> {
    const { owner, queue, limit, free } = request;
    // Who enqueued while this process was marked as awake woke nobody.
    let mayBeMore = await this.#awake.note(queue, owner, { jobs: claimed, limit, free });
    const look = this.#positionsOf(queue).beginLook();
    if (look !== null) {
      const looking = lookBehind(this.#database, queue, look);
      // Whoever has jobs need not wait for it.
      if (claimed === 0 && await looking) mayBeMore = true;
    }
    if (!mayBeMore || claimed >= limit) return [];
    return await this.#claimOnce({ owner, queue, limit: limit - claimed, free: Math.max(0, free - claimed) });
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
    const { queue, aside } = request;
    const scan = this.#positionsOf(queue).begin();
    const asideScan = aside === undefined ? undefined : this.#asideOf({ queue, kind: aside }).begin();
    const seq = this.#marks.nextSeq();
    const rows = await this.#run(request, seq, scan.from, asideScan);
    const claimed = rows.map(toClaimed);
    this.#lost.noteClaimed(request.owner, request.queue, claimed);
    const started = claimed.slice(0, Math.max(0, request.free)).filter((job) => !job.alone);
    this.#marks.noteStarted(request.owner, seq, started);
    const last = rows.filter((row) => row.due_at !== null);
    const isFull = rows.length >= request.limit;
    scan.end(last.filter((row) => row.aside !== true).map(toPlaced), isFull);
    asideScan?.end(last.filter((row) => row.aside === true).map(toPlaced), isFull);
    return claimed;
  }

  async #run(
    request: ClaimRequest,
    seq: number,
    from: readonly Position[],
    aside: AsideScan | undefined,
  ): Promise<readonly TxRow[]> {
    const { owner, queue, limit, free } = request;
    const params = [owner, queue, limit, free, String(seq), ...from.flatMap(({ at, id }) => [at, id])];
    try {
      if (aside === undefined) return await this.#database.query(CLAIM, params);
      const places = aside.from.flatMap(({ at, id }) => [at, id]);
      return await this.#database.query(CLAIM_ASIDE, [
        ...params,
        request.aside!,
        String(aside.backMs),
        ...places,
      ]);
    } catch (error) {
      if (error instanceof DatabaseUnavailableError) this.#lost.noteLost(queue);
      throw error;
    }
  }
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
