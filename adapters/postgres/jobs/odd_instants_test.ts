/** Instants as somebody's SQL may have them: "run it now" and "never". */
import { assert, assertEquals, assertLess } from "@std/assert";
import { newJob, until, withStore } from "../fixture_test.ts";

const ODD = ["-infinity", "4714-11-24 00:00:00+00 BC", "0001-01-01 00:00:00+00 BC", "0001-01-01 00:00:00+00"];
const FAR = ["infinity", "294276-12-31 23:59:59+00", "10000-01-01 00:00:00+00"];

Deno.test("jobs that are due since the beginning of time run, all of them, and so does what comes after", () =>
  withStore(async ({ store, claim, finish }) => {
    for (let round = 0; round < 3; round++) {
      const ids = (await store.insert(Array.from({ length: 3 * ODD.length + 2 }, () => newJob()))).map((
        { id },
      ) => id);
      for (const [index, id] of ids.slice(0, 3 * ODD.length).entries()) {
        await store.database.query(
          "update {schema}.job set scheduled_at = $2::text::timestamptz where id = $1::text::bigint",
          [id, ODD[index % ODD.length]!],
        );
      }
      const claimed = new Set<string>();
      // Two at a time: a claim goes on from the place of the last one.
      await until("all are claimed", async () => {
        const jobs = await claim(2);
        for (const { id } of jobs) claimed.add(id);
        await finish(jobs);
        return claimed.size === ids.length;
      });
    }
  }));

Deno.test("a job that is due at the end of time waits, and the others of its queue run", () =>
  withStore(async ({ store, owner, claim }) => {
    const ids = (await store.insert([...FAR.map(() => newJob()), newJob()])).map(({ id }) => id);
    for (const [index, at] of FAR.entries()) {
      await store.database.query(
        "update {schema}.job set scheduled_at = $2::text::timestamptz where id = $1::text::bigint",
        [ids[index]!, at],
      );
    }
    assertEquals((await claim()).map(({ id }) => id), [ids.at(-1)]);
    const dueMs = await store.nextDue("q");
    assert(dueMs === null || dueMs >= 0, String(dueMs));
    for (const id of ids.slice(0, -1)) {
      assertEquals((await store.get(id))?.scheduledAt, "9999-12-31T23:59:59.999999Z");
    }
    assertEquals(await store.retry(ids[0]!), "q");
    await until("it is claimed", async () => (await claim()).length === 1);
    assertEquals((await store.beat(owner)).alive, true);
  }));

Deno.test("lists, details, ages and retention cope with every instant", () =>
  withStore(async ({ store, claim, finish }) => {
    const all = [...ODD, ...FAR];
    await store.insert(all.flatMap(() => [newJob(), newJob()]));
    const jobs = await claim(all.length);
    await finish(jobs);
    for (const [index, at] of all.entries()) {
      await store.database.query(
        `update {schema}.job_history
        set finished_at = $2::text::timestamptz, scheduled_at = $2::text::timestamptz,
          enqueued_at = $2::text::timestamptz, claimed_at = $2::text::timestamptz
        where id = $1::text::bigint`,
        [jobs[index]!.id, at],
      );
    }
    await store.database.query("update {schema}.job set scheduled_at = '-infinity'");
    for (const job of await store.list({ limit: 100 })) {
      for (const at of [job.scheduledAt, job.enqueuedAt, job.claimedAt, job.finishedAt]) {
        assert(at === null || !Number.isNaN(Date.parse(at)), String(at));
      }
    }
    for (const kind of [undefined, "k"]) {
      for (const { oldestMs } of (await store.counts(kind)).waiting) assertLess(oldestMs, 60_000);
    }
    assertEquals(await store.purge({ completedMs: 1000, othersMs: 1000, limit: 100 }), ODD.length);
  }));
