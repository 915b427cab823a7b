import { assert, assertEquals } from "@std/assert";
import { PostgresDatabase } from "../connection/database.ts";
import { databaseUrl, withStore } from "../fixture_test.ts";

const ROWS = 300_000;
const STEP = 1000;

const ENDED = `
  insert into {schema}.job_history (
    id, scheduled_at, enqueued_at, claimed_at, finished_at, attempt, max_attempts, run, snoozes, priority, alone, kind,
    queue, state, args
  )
  select
    n, now(), now(), now(), now() - interval '10 days' + n * interval '10 ms', 1, 3, 1, 0, 2, false, 'plain', 'default',
    case when n % 3 = 0 then 'discarded' else 'completed' end, '{"n": 1}'
  from generate_series(1, ${ROWS}) as n`;

Deno.test("a purge is as quick at its end as at its beginning while an old transaction keeps every dead row", () =>
  withStore(async ({ store }) => {
    await store.database.query(ENDED);
    await store.database.query("analyze {schema}.job_history");
    const other = PostgresDatabase.connect({
      url: databaseUrl(),
      schema: store.database.schema,
      listen: "off",
    });
    const done = Promise.withResolvers<void>();
    const begun = Promise.withResolvers<void>();
    const holding = other.transaction(async (tx) => {
      await tx.unsafe("select count(*) from {schema}.worker", []);
      begun.resolve();
      await done.promise;
    }, { isolation: "repeatable read" });
    await begun.promise;
    const rates: number[] = [];
    const part = ROWS / 10;
    try {
      for (let purged = 0; purged < ROWS;) {
        const began = performance.now();
        const until = purged + part;
        while (purged < until) {
          const count = await store.purge({ completedMs: 1, othersMs: 1, limit: STEP });
          assert(count > 0, `${purged} of ${ROWS} were purged`);
          purged += count;
        }
        rates.push(part / (performance.now() - began) * 1000);
      }
    } finally {
      done.resolve();
      await holding;
      await other.close();
    }
    const said = `rows/s by tenths: ${rates.map(Math.round).join(", ")}`;
    // The first tenths meet a cold table, and a busy machine may slow down any one of them.
    const middle = (some: readonly number[]) => some.toSorted((one, other) => one - other)[1]!;
    assert(middle(rates.slice(-3)) >= 0.7 * middle(rates.slice(0, 3)), said);
    assertEquals((await store.database.query("select from {schema}.job_history limit 1")).length, 0);
  }));
