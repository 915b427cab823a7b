import type { Bench } from "./bench.ts";

const STEP = 500_000;

/** Writes ended jobs into a schema of Millrace's, as a long life of the queue leaves them, in the order of their ids. */
export async function seedHistory(bench: Bench, schema: string, rows: number): Promise<void> {
  for (let from = 0; from < rows; from += STEP) {
    await bench.sql.unsafe(`
      insert into ${schema}.job_history (
        id, scheduled_at, enqueued_at, claimed_at, finished_at, attempt, max_attempts, run, snoozes, priority, alone,
        kind, queue, state, args
      )
      select
        id, at, at, at, at, 1, 3, 1, 0, 2, false, 'noop', 'default', 'completed',
        jsonb_build_object('order', id, 'note', 'a payload of some fifty bytes')
      from generate_series(${from + 1}, ${Math.min(from + STEP, rows)}) as given (id)
      cross join lateral (
        select clock_timestamp() - interval '23 hours' + given.id * interval '10 ms' as at
      ) as times`);
  }
  await bench.sql.unsafe(
    `select setval(pg_get_serial_sequence('${schema}.job', 'id'), greatest(${rows}, 1))`,
  );
  await bench.sql.unsafe(`vacuum analyze ${schema}.job_history`);
}

/** Writes due jobs by SQL alone, so that no process of a contestant has grown by it. */
export async function seedJobs(bench: Bench, schema: string, rows: number, queue = "default"): Promise<void> {
  await bench.sql.unsafe(
    `insert into ${schema}.job (kind, queue, priority, max_attempts, args, scheduled_at)
     select 'noop', $1, 2, 3, '{"order": 4711, "note": "a payload of some fifty bytes"}', clock_timestamp()
     from generate_series(1, $2::int)`,
    [queue, rows],
  );
}
