import { assert, assertEquals, assertLess } from "@std/assert";
import { testDatabaseUrl } from "../support/test_database.ts";
import { connectPostgres } from "./support/connect.ts";
import { findPgBouncer, PgBouncer } from "./support/pgbouncer.ts";
import { Site } from "./support/site.ts";

const program = findPgBouncer();

Deno.test({
  name: "through PgBouncer in transaction mode polling finds all work, which is said once",
  ignore: program === null,
  async fn() {
    await using bouncer = await PgBouncer.start(program!, await testDatabaseUrl());
    await using site = await Site.open({ through: bouncer.url, config: { preparedStatements: false } });
    // Migrates through it too.
    const worker = await site.working({ tick: { everyMs: 500, journal: site.journal.path } });
    const began = performance.now();
    const first = await site.enqueue("plain");
    assertEquals((await site.until(first, "completed")).output, worker.pid);
    assertLess(performance.now() - began, 15_000);

    const sql = connectPostgres(bouncer.url);
    const inTransaction = await sql.begin((tx) => site.runtime.with(tx).enqueue("plain", site.args()));
    await sql.end();
    const result = await site.runtime.wait(inTransaction, 5000);
    assert(result.done && result.state === "completed");

    const held = await site.enqueue("hold");
    await site.started(held);
    assertEquals((await site.runtime.cancel(held)).result, "requested");
    await site.until(held, "cancelled");

    const burst = await Promise.all(Array.from({ length: 200 }, () => site.enqueue("plain")));
    for (const id of burst) assertEquals((await site.until(id, "completed")).attempt, 1);

    const unavailable = worker.log.filter((line) => line.event === "listening is not possible");
    assertEquals(unavailable.length, 1);
    const running = await site.enqueue("hold");
    await site.started(running);
    worker.signal("SIGTERM");
    assertEquals((await worker.end()).code, 0);
    const given = (await site.runtime.get(running))!;
    assertEquals([given.state, given.attempt], ["pending", 0]);
    assertEquals((await site.sql.unsafe(`select from ${site.schema}.worker`)).length, 0);
  },
});

Deno.test({
  name: "through PgBouncer, with prepared statements left on: refused with what to do, not half working",
  ignore: program === null,
  async fn() {
    await using bouncer = await PgBouncer.start(program!, await testDatabaseUrl());
    await using site = await Site.open();
    const worker = site.worker({ url: bouncer.url });
    assertEquals((await worker.end()).code, 3);
    assert(/preparedStatements: false/.test(worker.log.at(-1)!.error as string), worker.stdout);
  },
});
