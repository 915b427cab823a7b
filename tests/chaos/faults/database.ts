import type postgres from "postgres";
import { eventually, pause } from "../../conformance/eventually.ts";
import { tryKill } from "../fleet.ts";
import { type Fault, outageMs, type Target } from "./target.ts";

/** For so long at most the table of jobs is locked, in ms: a maintenance that nobody had announced. */
const LOCK_MS = [1000, 60_000] as const;
/** A lock is given up when what runs does not let it in for so long. */
const LOCK_WAIT = "15s";
/** So long a leader may take to come to the row that is held for it, in ms. */
const TICK_MS_MAX = 4000;
const DOWN_MS = [0, 3000] as const;

const LEADER = `
  select worker.name from {schema}.leader join {schema}.worker on worker.id = leader.owner`;

/** Someone waits for a lock on the table of periodics. */
const TICK_WAITS = `
  select from pg_locks
  where not granted or exists (
    select from pg_stat_activity
    where pg_stat_activity.pid = pg_locks.pid
      and wait_event_type = 'Lock'
      and query like '%.periodic%'
      and application_name = 'millrace'
  )
  limit 1`;

/** The kind of the rows that stand where the sequence is going: as after a restore that left it behind. */
export const PLANTED = "planted";
const TAKEN_MS = 3000;
const PULL_MS_MAX = 120_000;

const PLANT_ENDED = `
  insert into {schema}.job_history (
    id, kind, queue, state, priority, scheduled_at, enqueued_at, finished_at, attempt, max_attempts, run, snoozes,
    alone, args
  )
  select
    last_value + ahead, '${PLANTED}', 'nowhere', 'completed', 1, now(), now(), now(), 1, 1, 1, 0, false, '{}'
  from {schema}.job_id_seq cross join generate_series(3, 12, 3) as ahead
  on conflict do nothing`;

const PLANT_WAITING = `
  insert into {schema}.job (id, kind, queue, priority, max_attempts, args, scheduled_at)
  select last_value + ahead, '${PLANTED}', 'nowhere', 1, 1, '{}', now() + interval '1 day'
  from {schema}.job_id_seq cross join generate_series(3, 9, 3) as ahead
  on conflict do nothing`;

const PULL_WAITING = `delete from {schema}.job where kind = '${PLANTED}'`;

/** What others do in the database, and what becomes of the servers behind its address. */
export const DATABASE_FAULTS: readonly Fault[] = [
  {
    name: "job table locked",
    weight: 1,
    isServers: true,
    async make(target, random) {
      // Rarely for long: the whole run waits meanwhile.
      const ms = random.chance(0.2) ? random.integer(...LOCK_MS) : random.integer(LOCK_MS[0], 8000);
      target.journal.write({ what: "out", pid: null, why: "the table of jobs is locked" });
      try {
        await holding(target, `lock table ${target.schema}.job in access exclusive mode`, () => pause(ms));
      } finally {
        target.journal.write({ what: "back", pid: null });
      }
    },
  },
  {
    name: "leader frozen inside a tick",
    weight: 3,
    async make(target, random) {
      const { sql, schema, members, journal } = target;
      const rows = await sql.unsafe(LEADER.replaceAll("{schema}", schema));
      const pid = Number(String(rows[0]?.name).split(":").at(-1));
      if (!members.some(({ worker }) => worker === pid)) return;
      // Held until the leader waits for the rows inside its tick. One that skips held rows is frozen between two ticks.
      await holding(target, `select from ${schema}.periodic for update`, async () => {
        await eventually(async () => (await sql.unsafe(TICK_WAITS)).length > 0, TICK_MS_MAX).catch(() => {});
        journal.write({ what: "out", pid, why: "frozen inside a tick" });
        tryKill(pid, "SIGSTOP");
      });
      await pause(outageMs(random));
      journal.write({ what: "back", pid });
      tryKill(pid, "SIGCONT");
    },
  },
  {
    name: "ids taken by ended jobs",
    weight: 1,
    make: (target) => plant(target, PLANT_ENDED),
  },
  {
    name: "ids taken by waiting jobs",
    weight: 1,
    async make(target) {
      await plant(target, PLANT_WAITING);
      try {
        await pause(TAKEN_MS);
      } finally {
        await eventually(() => plant(target, PULL_WAITING).then(() => true), PULL_MS_MAX);
      }
    },
  },
  {
    name: "switch-over",
    weight: 3,
    isServers: true,
    isPossible: ({ pair }) => pair !== null,
    async make({ pair, journal }, random) {
      journal.write({ what: "out", pid: null, why: "the standby takes the primary's place" });
      try {
        await pair!.switchOver(random.integer(...DOWN_MS));
      } finally {
        journal.write({ what: "back", pid: null });
      }
      await pair!.addStandby();
    },
  },
];

/** Puts rows where the sequence will be next. Their ids are nobody's, so each job of the run keeps an id of its own. */
async function plant({ sql, schema }: Target, statement: string): Promise<void> {
  await sql.unsafe(statement.replaceAll("{schema}", schema));
}

/** Runs a statement in a transaction that stays open until a function has ended. */
async function holding({ sql }: Target, statement: string, during: () => Promise<unknown>): Promise<void> {
  await sql.begin(async (tx: postgres.TransactionSql) => {
    await tx.unsafe(`set local lock_timeout = '${LOCK_WAIT}'`);
    await tx.unsafe(statement);
    await during();
  });
}
