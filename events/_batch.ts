import type { Database, Transaction } from "../ports/database.ts";
import type { EventId, RecordedEvent } from "../ports/event.ts";
import type { JobId } from "../ports/job.ts";
import type { Jobs } from "../ports/jobs.ts";
import type { TxRow } from "../ports/tx.ts";
import { relayJsonText } from "../shared/json_text.ts";
import { refusalOf } from "../shared/savepoint.ts";
import { jobsOf, planFanout } from "./_fanout.ts";
import { takeInOrder } from "./_in_order.ts";
import type { OrderedSubscription, Subscribers } from "./_subscribers.ts";

/** The most events of one batch. */
const BATCH_MAX = 200;

/** The most data of one batch, and of one insert of jobs, in characters: large ones gain nothing from company. */
const TEXT_MAX = 4 * 1024 * 1024;

/**
 * The version is read in the statement that claims, so both see the same moment: an event that was recorded after a newer
 * set was published is never seen by a process of the older set.
 */
const CLAIM = `
  with claimed as materialized (
    select seq, id, type, subject, owner_id, occurred_at, data::text as data, failures, fanout is not null as is_partial
    from {schema}.outbox
    where fanned_out_at is null and poisoned_at is null
      and seq > $1::text::bigint
      and (
        retry_at is null
        or retry_at not between clock_timestamp() and clock_timestamp() + $5::float8 * interval '1 ms'
      )
      and $2::text::bigint = (select max(version) from {schema}.subscription_set)
    order by seq
    limit $3::int
    for update skip locked
  ), measured as (
    select *, sum(length(data)) over (order by seq) - length(data) as before
    from claimed
  )
  select
    seq::text, id::text, type, subject, owner_id, data, failures, is_partial,
    to_char(occurred_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as occurred_at
  from measured
  where before < $4::int
  order by measured.seq`;

const CLAIM_ONE = `
  select
    seq::text, id::text, type, subject, owner_id, data::text, failures, fanout is not null as is_partial, fanout::text,
    to_char(occurred_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as occurred_at
  from {schema}.outbox
  where id = $1::text::uuid
    and fanned_out_at is null and poisoned_at is null
    and $2::text::bigint = (select max(version) from {schema}.subscription_set)
  for update skip locked`;

const MARK = `
  update {schema}.outbox
  set fanned_out_at = clock_timestamp(), fanout = given.fanout, retry_at = null
  from json_to_recordset($1::text::json) as given (id uuid, fanout jsonb)
  where outbox.id = given.id`;

/** What was done before stays: a subscriber that has the event must not get it again. */
const MARK_ALONE = `
  update {schema}.outbox
  set
    fanned_out_at = case when $3::text::boolean then clock_timestamp() end,
    fanout = coalesce(fanout, '{}') || $2::text::jsonb,
    retry_at = null
  where id = $1::text::uuid`;

/** A row of the outbox that was claimed. */
export interface ClaimedEvent {
  /** Its place in the order of recording. */
  readonly seq: string;
  /** The event. */
  readonly id: EventId;
  /** How often its fan-out has failed. */
  readonly failures: number;
  /** Whether some of its subscribers have it already, and others were refused. */
  readonly isPartial: boolean;
  /** The subscribers that have it already; known to {@linkcode claimOne} alone. */
  readonly done: ReadonlySet<string>;
  /** The length of its data as text. */
  readonly size: number;
  /** The event as its subscribers get it. Throws when its data can't be read. */
  read(): RecordedEvent;
}

/** Where and as what a batch is fanned out. */
export interface BatchContext {
  /** Where the outbox is. */
  readonly database: Database;
  /** The queue. */
  readonly jobs: Jobs;
  /** Who gets what. */
  readonly subscribers: Subscribers;
  /** The version of the set of subscriptions that this process fans out as. */
  readonly version: string;
}

/**
 * Claims the events after a place; their rows are locked until the transaction ends. One that is to be tried again in more
 * than `retryMsMax` is not left alone: that was set while the clock was ahead.
 */
export async function claimBatch(
  tx: Transaction,
  version: string,
  after: string,
  retryMsMax: number,
): Promise<ClaimedEvent[]> {
  return (await tx.unsafe(CLAIM, [after, version, BATCH_MAX, TEXT_MAX, retryMsMax])).map(claimedEvent);
}

/** Whether a batch left off where it was full. */
export function isFull(claimed: readonly ClaimedEvent[]): boolean {
  return claimed.length >= BATCH_MAX || claimed.reduce((sum, { size }) => sum + size, 0) >= TEXT_MAX;
}

/** Claims one event; null when another relay has it, or it is no longer to be fanned out by this process. */
export async function claimOne(tx: Transaction, version: string, id: EventId): Promise<ClaimedEvent | null> {
  const [row] = await tx.unsafe(CLAIM_ONE, [id, version]);
  return row === undefined ? null : claimedEvent(row);
}

/**
 * Hands claimed events to the subscriptions that take them in order, enqueues their jobs, and marks them, all in the
 * transaction. Resolves to how many it has fanned out, from the first on.
 */
export async function fanOut(
  tx: Transaction,
  { jobs, subscribers }: Pick<BatchContext, "jobs" | "subscribers">,
  claimed: readonly ClaimedEvent[],
  ordered: readonly OrderedSubscription[],
): Promise<number> {
  if (claimed.length === 0) return 0;
  const events = claimed.map((each) => each.read());
  const count = await takeInOrder(tx, ordered, events, subscribers, false);
  const plan = planFanout(events.slice(0, count), subscribers);
  const sizes = new Map(claimed.map(({ id, size }) => [id, size]));
  const inTx = jobs.with(tx);
  const ids: JobId[] = [];
  for (let from = 0; from < plan.requests.length;) {
    let to = from;
    for (let size = 0; to < plan.requests.length && size < TEXT_MAX; to++) {
      size += sizes.get((plan.requests[to]!.args as RecordedEvent).event_id)! + 200;
    }
    ids.push(...await inTx.enqueueMany(plan.requests.slice(from, to)));
    from = to;
  }
  const marks = plan.shares.map(({ eventId, requests }) => ({ id: eventId, fanout: jobsOf(requests, ids) }));
  await tx.unsafe(MARK, [JSON.stringify(marks)]);
  return count;
}

/** How one event was fanned out by itself. */
export interface Alone {
  /** Why a subscriber was refused it; null when none was. */
  readonly refusal: Error | null;
  /** Whether a subscriber has it. */
  readonly isAnyDone: boolean;
}

/**
 * Fans out one event that was refused in company: to all of its subscribers at once, and where that is refused, to each by
 * itself. What is done is marked in the transaction, so that those who were refused alone are tried again.
 */
export async function fanOutAlone(
  tx: Transaction,
  { jobs, subscribers }: Pick<BatchContext, "jobs" | "subscribers">,
  claimed: ClaimedEvent,
  ordered: readonly OrderedSubscription[],
): Promise<Alone> {
  const event = claimed.read();
  const { requests, shares } = planFanout([event], subscribers);
  const open = [...shares[0]!.requests].filter(([name]) => !claimed.done.has(name));
  const done: Record<string, JobId> = {};
  const inTx = jobs.with(tx);
  const hand = async (some: typeof open): Promise<void> => {
    const names = new Set(some.map(([name]) => name));
    const takers = ordered.filter(({ name }) => names.has(name));
    await takeInOrder(tx, takers, [event], subscribers, true);
    const ids = await inTx.enqueueMany(some.map(([, index]) => requests[index]!));
    for (const [place, [name]] of some.entries()) done[name] = ids[place]!;
  };
  let refusal = open.length === 0 ? null : await refusalOf(tx, () => hand(open));
  if (refusal !== null && open.length > 1) {
    refusal = null;
    for (const each of open) refusal = await refusalOf(tx, () => hand([each])) ?? refusal;
  }
  const isAnyDone = claimed.done.size > 0 || Object.keys(done).length > 0;
  if (refusal === null || isAnyDone) {
    await tx.unsafe(MARK_ALONE, [claimed.id, JSON.stringify(done), String(refusal === null)]);
  }
  return { refusal, isAnyDone };
}

function claimedEvent(row: TxRow): ClaimedEvent {
  const data = String(row.data);
  const id = String(row.id);
  return {
    seq: String(row.seq),
    id,
    failures: Number(row.failures),
    isPartial: row.is_partial === true,
    done: new Set(Object.keys(typeof row.fanout === "string" ? JSON.parse(row.fanout) : {})),
    size: data.length,
    read: () => ({
      event_id: id,
      type: String(row.type),
      subject: String(row.subject),
      owner_id: row.owner_id === null ? null : String(row.owner_id),
      occurred_at: String(row.occurred_at),
      data: relayJsonText(data),
    }),
  };
}
