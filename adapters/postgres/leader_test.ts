import { assertEquals } from "@std/assert";
import { until, withStore } from "./fixture_test.ts";

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
