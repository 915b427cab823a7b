import { GIVEN_UP } from "../processes/rescue.ts";
import { placeSql } from "../sql/sql_text.ts";

/**
 * The due jobs of one priority behind a position, oldest first. The order and the row comparison are those of the
 * ready index, so the scan begins at the position and reads no row that it does not return.
 */
function branch(priority: number, at: string, id: string, { more = "", except = "" } = {}): string {
  return `
    select * from (
      select ctid as place, ${priority} as priority, scheduled_at${more}
      from {schema}.job
      where queue = $2::text
        and priority = ${priority}
        and state in ('pending', 'retryable')
        and scheduled_at <= statement_timestamp()
        and (scheduled_at, id) > (${at}::text::timestamptz, ${id}::text::bigint)${exceptSql(except)}
      order by scheduled_at, id
      limit $3::int
      for update skip locked
    ) as priority_${priority}`;
}

/** The jobs of one kind that lie aside, of one priority and behind a position, in the order in which they were put aside. */
function asideBranch(
  priority: number,
  at: string,
  id: string,
  { kind = "$14", backMs = "$15", more = "", except = "" } = {},
): string {
  return `
    select * from (
      select ctid as place, ${priority} as priority, scheduled_at, true as aside${more}
      from {schema}.job
      where undeclared
        and queue = $2::text
        and kind = ${kind}::text
        and priority = ${priority}
        and state <> 'running'
        and (scheduled_at, id) > (
          ${at}::text::timestamptz - ${backMs}::text::int * interval '1 ms', ${id}::text::bigint
        )${exceptSql(except)}
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

function claimInOrder(except?: string): string {
  return claim(PLACES.map(([at, id], line) => branch(line + 1, at, id, { except })), { aside: false });
}

function claimAside(except?: string): string {
  return claim(
    PLACES.flatMap(([at, id], line) => {
      const [asideAt, asideId] = ASIDE_PLACES[line]!;
      return [
        asideBranch(line + 1, asideAt, asideId, { except }),
        branch(line + 1, at, id, { more: ", false as aside", except }),
      ];
    }),
    { aside: true },
  );
}

/** Claims from the ready order. */
export const CLAIM: string = claimInOrder();

/** The same and what lies aside of one kind, which has waited longer. */
export const CLAIM_ASIDE: string = claimAside();

/** As {@linkcode CLAIM}, around some jobs. */
export const CLAIM_AROUND: string = claimInOrder("$14");

/** As {@linkcode CLAIM_ASIDE}, around some jobs. */
export const CLAIM_ASIDE_AROUND: string = claimAside("$24");

/** Claims some jobs and no others, if they can be claimed. */
export const CLAIM_THESE: string = claim([`
    select * from (
      select ctid as place, priority, scheduled_at, undeclared as aside
      from {schema}.job
      where id = any($6::text::bigint[])
        and queue = $2::text
        and state in ('pending', 'retryable')
        and (undeclared or scheduled_at <= statement_timestamp())
      order by priority, undeclared desc, scheduled_at, id
      limit $3::int
      for update skip locked
    ) as these`], { aside: true });

/** The jobs that {@linkcode CLAIM_AROUND} would claim. */
export const DUE: string = due([["$4", "$5"], ["$6", "$7"], ["$8", "$9"], ["$10", "$11"]]);

/** The jobs that {@linkcode CLAIM_ASIDE_AROUND} would claim. */
export const DUE_ASIDE: string = due(
  [["$4", "$5"], ["$6", "$7"], ["$8", "$9"], ["$10", "$11"]],
  [["$14", "$15"], ["$16", "$17"], ["$18", "$19"], ["$20", "$21"]],
);

type PlaceParams = readonly (readonly [at: string, id: string])[];

function due(places: PlaceParams, asidePlaces?: PlaceParams): string {
  const [except, more] = ["$1", ", id, kind"];
  const branches = places.flatMap(([at, id], line) => {
    const ready = branch(line + 1, at, id, {
      more: asidePlaces === undefined ? more : `, false as aside${more}`,
      except,
    });
    const aside = asidePlaces?.[line];
    if (aside === undefined) return [ready];
    return [asideBranch(line + 1, ...aside, { kind: "$12", backMs: "$13", more, except }), ready];
  });
  return `
  select id, kind
  from (${branches.join("\n    union all\n")}) as branches
  limit $3::int`;
}

function exceptSql(ids: string): string {
  return ids === "" ? "" : `
        and id <> all(${ids}::text::bigint[])`;
}
