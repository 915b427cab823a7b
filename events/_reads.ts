import type { Database } from "../ports/database.ts";
import { EventNotFoundError, EventNotPoisonedError, InvalidOptionError } from "../ports/errors.ts";
import type { EventId } from "../ports/event.ts";
import type { Backlog, EventDetail, EventFilter, EventState, EventSummary } from "../ports/events.ts";
import type { Inspector } from "../ports/inspector.ts";
import type { JobId } from "../ports/job.ts";
import { LIST_LIMIT_MAX } from "../ports/limits.ts";
import type { TxRow } from "../ports/tx.ts";
import { isEventGlob } from "../shared/event_glob.ts";
import { isTooDeep, relayJsonText } from "../shared/json_text.ts";
import { integer, oneOf, type Options, resolveOptions, text } from "../shared/options.ts";
import { checkText } from "../shared/text.ts";
import { OUTBOX_CHANNEL } from "./_schema.ts";

const WAITING_COUNTED_MAX = 10_000;

const BACKLOG = `
  select
    (
      select count(*)::int
      from (
        select from {schema}.outbox where fanned_out_at is null and poisoned_at is null limit $1::int
      ) as waiting
    ) as waiting,
    (
      select greatest(extract(epoch from clock_timestamp() - occurred_at) * 1000, 0)::float8
      from {schema}.outbox
      where fanned_out_at is null and poisoned_at is null
      order by seq
      limit 1
    ) as oldest_ms,
    (select count(*)::int from {schema}.outbox where poisoned_at is not null) as poisoned,
    pg_total_relation_size(($2::text || '.outbox')::regclass)::float8 as bytes`;

const SUMMARY_COLUMNS = `
    id::text, type, subject, owner_id, failures, last_error, fanout::text,
    to_char(occurred_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as occurred_at,
    to_char(fanned_out_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as fanned_out_at,
    poisoned_at is not null as poisoned`;

/** A glob is matched by segments: `*` at the end is one or more, elsewhere exactly one. */
const LIST = `
  select ${SUMMARY_COLUMNS}
  from {schema}.outbox
  where ($1::text is null or type ~ $1::text)
    and ($2::text is null or subject = $2::text)
    and ($3::text is null or owner_id = $3::text)
    and ($4::text is null or id < $4::text::uuid)
    and case $5::text
      when 'waiting' then fanned_out_at is null and poisoned_at is null
      when 'fanned out' then fanned_out_at is not null
      when 'poisoned' then poisoned_at is not null
      else true
    end
  order by id desc
  limit $6::int`;

const GET = `
  select ${SUMMARY_COLUMNS}, data::text
  from {schema}.outbox
  where id = $1::text::uuid`;

const REQUEUE = `
  update {schema}.outbox
  set poisoned_at = null, failures = 0, retry_at = null
  where id = $1::text::uuid and poisoned_at is not null
  returning id`;

const DROP = `
  delete from {schema}.outbox
  where id = $1::text::uuid and poisoned_at is not null
  returning id`;

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const STATES: readonly EventState[] = ["waiting", "fanned out", "poisoned"];

const FILTER: Options<EventFilter> = {
  type: {
    expected: "an event type, or segments or * with dots between",
    accepts: (type) => isEventGlob(type as string),
  },
  state: oneOf(STATES),
  subject: text(),
  ownerId: text(),
  before: { expected: "the id of an event", accepts: isEventId },
  limit: integer({ min: 1, max: LIST_LIMIT_MAX, default: 50 }),
};

/** Counts, ages and sizes. */
export async function readBacklog(database: Database): Promise<Backlog> {
  const [row] = await database.query(BACKLOG, [WAITING_COUNTED_MAX, database.quotedSchema]);
  return {
    waiting: Number(row!.waiting),
    oldestMs: row!.oldest_ms === null ? null : Number(row!.oldest_ms),
    poisoned: Number(row!.poisoned),
    bytes: Number(row!.bytes),
  };
}

/** Events, newest first. */
export async function listEvents(database: Database, filter: EventFilter): Promise<EventSummary[]> {
  const { type, subject, ownerId, state, before, limit } = checkFilter(filter);
  const rows = await database.query(LIST, [
    type === undefined ? null : globPattern(type),
    subject ?? null,
    ownerId ?? null,
    before ?? null,
    state ?? null,
    limit!,
  ]);
  return rows.map(summaryOf);
}

/** One event whole. */
export async function getEvent(
  database: Database,
  inspector: Inspector,
  id: EventId,
): Promise<EventDetail | null> {
  checkText("id", id);
  if (!isEventId(id)) return null;
  const [row] = await database.query(GET, [id]);
  if (row === undefined) return null;
  const summary = summaryOf(row);
  const subscribers = await Promise.all(
    Object.entries(summary.jobs ?? {}).map(async ([subscription, jobId]) => ({
      subscription,
      jobId,
      state: (await inspector.get(jobId))?.state ?? null,
    })),
  );
  return {
    ...summary,
    event: {
      event_id: summary.id,
      type: summary.type,
      subject: summary.subject,
      owner_id: summary.ownerId,
      occurred_at: summary.occurredAt,
      // Somebody's SQL may have nested it too deep; such an event is poisoned, and is looked at for that.
      data: isTooDeep(String(row.data)) ? null : relayJsonText(String(row.data)),
    },
    subscribers: subscribers.sort((one, other) => one.subscription < other.subscription ? -1 : 1),
  };
}

/** Puts a poisoned event back in line and wakes a relay. */
export async function requeueEvent(database: Database, id: EventId): Promise<void> {
  await mendPoisoned(database, REQUEUE, id);
  await database.notify(OUTBOX_CHANNEL, "");
}

/** Deletes a poisoned event. */
export async function dropEvent(database: Database, id: EventId): Promise<void> {
  await mendPoisoned(database, DROP, id);
}

async function mendPoisoned(database: Database, text: string, id: EventId): Promise<void> {
  checkText("id", id);
  if (!isEventId(id)) throw new EventNotFoundError(id);
  if ((await database.query(text, [id])).length > 0) return;
  const [row] = await database.query(GET, [id]);
  if (row === undefined) throw new EventNotFoundError(id);
  throw new EventNotPoisonedError(id, summaryOf(row).state);
}

/** Whether a text can be the id of an event. Anything else names none. */
export function isEventId(id: unknown): id is EventId {
  return typeof id === "string" && UUID.test(id);
}

function checkFilter(filter: EventFilter): EventFilter {
  const checked = resolveOptions("a filter", filter, FILTER);
  const { ownerId } = filter;
  // An owner that was forgotten must not show everybody's events.
  if ("ownerId" in filter && ownerId === undefined) {
    throw new InvalidOptionError("ownerId", ownerId, "an owner's id; without the member, everybody's events");
  }
  if (ownerId === "") throw new InvalidOptionError("ownerId", ownerId, "a text of at least one character");
  return checked;
}

/** A glob as a regular expression of PostgreSQL's. Its segments hold nothing that means something there. */
function globPattern(glob: string): string {
  const segments = glob.split(".");
  const parts = segments.map((segment, index) => {
    if (segment !== "*") return segment;
    return index === segments.length - 1 ? "[^.]+(\\.[^.]+)*" : "[^.]+";
  });
  return `^${parts.join("\\.")}$`;
}

function summaryOf(row: TxRow): EventSummary {
  const fannedOutAt = row.fanned_out_at === null ? null : String(row.fanned_out_at);
  return {
    id: String(row.id),
    type: String(row.type),
    subject: String(row.subject),
    ownerId: row.owner_id === null ? null : String(row.owner_id),
    occurredAt: String(row.occurred_at),
    state: row.poisoned === true ? "poisoned" : fannedOutAt === null ? "waiting" : "fanned out",
    fannedOutAt,
    jobs: row.fanout === null ? null : JSON.parse(String(row.fanout)) as Record<string, JobId>,
    failures: Number(row.failures),
    lastError: row.last_error === null ? null : String(row.last_error),
  };
}
