import { assertEquals, assertLess } from "@std/assert";
import { newJob, withStore } from "../fixture_test.ts";

const ENDED = 1_000_000;
const WAITING = 1000;
const CALLS = 50;

Deno.test("the depth takes less than 5 ms beside a million ended jobs", () =>
  withStore(async ({ store }) => {
    await store.database.query(`
      insert into {schema}.job_history (
        id, scheduled_at, enqueued_at, claimed_at, finished_at, attempt, max_attempts, run, snoozes, priority, alone, kind,
        queue, state, args
      )
      select n, now(), now(), now(), now(), 1, 3, 1, 0, 2, false, 'k', 'q', 'completed', '{"n": 1}'
      from generate_series(1, ${ENDED}) as n`);
    await store.database.query("select setval(pg_get_serial_sequence('{schema}.job', 'id'), 2000000)");
    await store.database.query("analyze {schema}.job_history");
    await store.insert(Array.from({ length: WAITING }, () => newJob()));
    for (const filter of [{}, { kind: "k" }, { queue: "q" }]) {
      const times: number[] = [];
      for (let call = 0; call < CALLS; call++) {
        const began = performance.now();
        assertEquals((await store.depth(filter)).due, WAITING);
        times.push(performance.now() - began);
      }
      // What it takes by itself: on a busy machine most calls wait for a core.
      const quick = times.toSorted((one, other) => one - other)[2]!;
      assertLess(quick, 5, `${JSON.stringify(filter)}: ${quick} ms`);
    }
  }));
