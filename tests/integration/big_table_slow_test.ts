import { assert, assertEquals, assertLess } from "@std/assert";
import { createPostgresStore, type PostgresStore } from "../../adapters/postgres/postgres_store.ts";
import { bareJob } from "../conformance/stage.ts";
import { eventually } from "../conformance/eventually.ts";
import { Site } from "./support/site.ts";
import { testDatabaseUrl } from "../support/test_database.ts";

const JOBS = 5000;
const BATCH = 10;

/** How long claims of a few jobs take, in ms, over a backlog that is worked off. */
async function claimTimes(store: PostgresStore, owner: string): Promise<number[]> {
  for (let made = 0; made < JOBS; made += 1000) {
    await store.insert(Array.from({ length: 1000 }, (_, n) => bareJob("plain", { n })));
  }
  const times: number[] = [];
  for (;;) {
    const began = performance.now();
    const jobs = await store.claim({ owner, queue: "default", limit: BATCH, free: BATCH });
    if (jobs.length === 0) return times.sort((one, other) => one - other);
    times.push(performance.now() - began);
    const ends = jobs.map(({ id, run }) =>
      ({ id, run, to: "completed", output: null, error: null }) as const
    );
    await store.settle(ends);
  }
}

const at = (times: readonly number[], part: number) => times[Math.floor((times.length - 1) * part)]!;

Deno.test("claims are as quick over 1.5 million finished, future and undeclared jobs as on an empty table", async () => {
  await using site = await Site.open();
  const store = createPostgresStore({ url: await testDatabaseUrl(), schema: site.schema, listen: "off" });
  try {
    const owner = crypto.randomUUID();
    await store.register({ id: owner, name: "claimer", queues: ["default"] });
    await claimTimes(store, owner); // Warm.
    const empty = await claimTimes(store, owner);
    await seed(site);
    await claimTimes(store, owner); // The first claims after a seed meet cold pages.
    const full = await claimTimes(store, owner);
    const said = `p99 ${at(empty, 0.99)} ms on an empty table, ${at(full, 0.99)} ms on a full one; ` +
      `medians ${at(empty, 0.5)} and ${at(full, 0.5)} ms`;
    assertLess(at(full, 0.99), 3 * Math.max(at(empty, 0.99), 2), said);
    assertLess(at(full, 0.5), 2 * Math.max(at(empty, 0.5), 1), said);

    const id = await site.enqueue("plain");
    const overview = await site.runtime.overview();
    assertEquals(overview.undeclared, 100_000);
    assert(overview.states.completed > 1_000_000 && overview.states.discarded === 200_000);
    await site.working();
    assertEquals((await site.until(id, "completed")).attempt, 1);
  } finally {
    await store.close();
  }
});

/** What a year has left behind. */
async function seed({ sql, schema }: Site): Promise<void> {
  const history = (count: number, state: string) => `
    insert into ${schema}.job_history
      (id, scheduled_at, enqueued_at, claimed_at, finished_at, attempt, max_attempts, run, snoozes, priority, alone,
        kind, queue, state, args)
    select nextval(pg_get_serial_sequence('${schema}.job', 'id')), now(), now(), now(), now(), 1, 3, 1, 0, 2, false,
      'plain', 'default', '${state}', '{"n": 1}'
    from generate_series(1, ${count})`;
  const live = (count: number, kind: string, undeclared: boolean) => `
    insert into ${schema}.job (scheduled_at, max_attempts, priority, undeclared, kind, queue, args)
    select now() + interval '30 days', 3, 1 + n % 4, ${undeclared}, '${kind}', 'default', '{"n": 1}'
    from generate_series(1, ${count}) as n`;
  await sql.unsafe(history(1_000_000, "completed"));
  await sql.unsafe(history(200_000, "discarded"));
  await sql.unsafe(live(200_000, "plain", false));
  await sql.unsafe(live(100_000, "newer", true));
  await sql.unsafe(`analyze ${schema}.job, ${schema}.job_history`);
}

Deno.test("strict priority: while first ones keep coming the last one waits, is seen waiting, and runs when they end", async () => {
  await using site = await Site.open({ config: { concurrency: 1 } });
  await site.working();
  const last = await site.enqueue("plain", {}, { priority: 4 });
  await site.until(last, "completed");
  const feed = () =>
    site.runtime.enqueueMany(
      Array.from(
        { length: 40 },
        () => ({ kind: "plain", args: site.args({ ms: 20 }), priority: 1 as const }),
      ),
    );
  await feed();
  await site.runtime.retry(last);
  for (let round = 0; round < 4; round++) {
    await eventually(async () => {
      const { states } = await site.runtime.overview("plain");
      return states.pending < 15;
    }, 20_000);
    await feed();
    assertEquals((await site.runtime.get(last))!.state, "pending");
  }
  const waiting = (await site.runtime.overview()).waiting.find((each) => each.priority === 4);
  assert(waiting !== undefined && waiting.oldestMs > 1000, JSON.stringify(waiting));
  await site.until(last, "completed", 30_000);
});
