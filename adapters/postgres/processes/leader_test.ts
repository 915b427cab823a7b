import { assertEquals } from "@std/assert";
import { gate, until, withStore } from "../fixture_test.ts";

Deno.test("one process holds the lease, until it resigns or lets it run out", () =>
  withStore(async ({ store }) => {
    const [one, two] = [crypto.randomUUID(), crypto.randomUUID()];
    const won = await Promise.all([one, two, one, two].map((owner) => store.lead(owner, 60_000)));
    assertEquals(won.filter((leads) => leads).length, 2);
    const leader = won[0] ? one : two;
    const other = leader === one ? two : one;
    assertEquals(await store.lead(leader, 60_000), true);
    await store.resign(other);
    assertEquals(await store.lead(other, 60_000), false);
    await store.resign(leader);
    assertEquals(await store.lead(other, 50), true);
    await until("the lease runs out", () => store.lead(leader, 60_000));
    assertEquals(await store.lead(other, 60_000), false);
  }));

Deno.test("a lease that somebody holds locked is waited for by nobody", () =>
  withStore(async ({ store }) => {
    const [one, two] = [crypto.randomUUID(), crypto.randomUUID()];
    assertEquals(await store.lead(one, 1), true);
    const [held, done] = [gate(), gate()];
    const holding = store.database.transaction(async (tx) => {
      await tx.unsafe("select from {schema}.leader for update", []);
      held.open();
      await done.opened;
    });
    await held.opened;
    assertEquals(await store.lead(two, 60_000), false);
    await store.resign(one);
    done.open();
    await holding;
    await until("it is free", () => store.lead(two, 60_000));
  }));

Deno.test("a lease from a time when the clock was ahead is taken over, and the log says so", async () => {
  const said: string[] = [];
  const log = {
    debug: () => {},
    info: () => {},
    error: () => {},
    warn: (event: string) => void said.push(event),
  };
  await withStore(async ({ store }) => {
    const [one, two] = [crypto.randomUUID(), crypto.randomUUID()];
    await store.lead(one, 15_000);
    await store.database.query("update {schema}.leader set until = clock_timestamp() + interval '30 days'");
    assertEquals(await store.lead(two, 15_000), true);
    assertEquals(said.length, 1);
    await store.database.query("update {schema}.leader set until = 'infinity'");
    assertEquals(await store.lead(one, 15_000), true);
  }, { log });
});
