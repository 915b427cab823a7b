import { assert, assertEquals } from "@std/assert";
import { eventually } from "../conformance/eventually.ts";
import { Receiver } from "./support/receiver.ts";
import { Site } from "./support/site.ts";

const LEASE_MS = 6000;

async function leftMs(site: Site): Promise<number[]> {
  const rows = await site.sql.unsafe(
    `select extract(epoch from busy_until - clock_timestamp())::float8 * 1000 as left_ms
     from ${site.schema}.webhook_endpoint
     order by ordered`,
  );
  return rows.map((row) => Number(row.left_ms ?? 0));
}

function idsOf(receiver: Receiver, from: number): string[] {
  return receiver.got.slice(from).map(({ headers }) => headers.get("webhook-id")!);
}

Deno.test("the leases of a killed process run out by themselves: a failing and an ordered endpoint go on, under the same ids", async () => {
  await using site = await Site.prepare({
    settings: { scheduleMs: [100], probeMs: 100, requestMs: 2000, leaseMs: LEASE_MS },
    lostAfterMs: 1500,
  });
  const held = Promise.withResolvers<Response>();
  await using fails = new Receiver();
  await using hangs = new Receiver();
  fails.answer = (_, count) => count === 1 ? new Response(null, { status: 500 }) : held.promise;
  hangs.answer = () => held.promise;
  const failing = await site.endpoint(fails.url, { eventTypes: ["order.paid"] });
  const ordered = await site.endpoint(hangs.url, { ordered: true });
  const paid = [await site.record({}, null, "order.paid")];
  const all = [...paid];
  const killed = site.worker();
  await fails.until(1);
  for (let number = 0; number < 3; number++) paid.push(await site.record({ number }, null, "order.paid"));
  for (let number = 0; number < 3; number++) all.push(await site.record({ number }));
  all.push(...paid.slice(1));
  await site.untilState(ordered.id, "waiting", all.length);
  await fails.until(2);
  await hangs.until(1);
  // Both have a request under way now, which hangs, and which has some time left.
  await eventually(async () => (await leftMs(site)).every((ms) => ms > LEASE_MS - 1500), 30_000);
  killed.signal("SIGKILL");
  await killed.end();
  const left = await leftMs(site);
  const now = performance.now();
  assert(left.every((ms) => ms > 1000), `the leases were over in ${left} ms already`);
  const places = [[fails, fails.got.length, failing.id, paid, now + left[0]!], [
    hangs,
    hangs.got.length,
    ordered.id,
    all,
    now + left[1]!,
  ]] as const;
  for (const receiver of [fails, hangs]) receiver.answer = () => new Response(null, { status: 204 });
  await using next = site.worker();
  await next.event("started");
  for (const [receiver, seen, id, events, over] of places) {
    const deliveries = await site.untilState(id, "delivered", events.length);
    const ids = idsOf(receiver, seen);
    const [first] = receiver.got.slice(seen);
    // What is left was read a moment before.
    assert(first!.at > over - 50, `${over - first!.at} ms before the lease was over`);
    assertEquals(ids.toSorted(), events.toSorted());
    // What hung when its process was killed is received again, as what it was.
    const hung = receiver.got[seen - 1]!;
    assertEquals(receiver.got.slice(seen).filter(({ text }) => text === hung.text).length, 1);
    if (id === ordered.id) assertEquals(ids, deliveries.map(({ eventId }) => eventId));
    assertEquals((await site.main.webhooks.get(id)).failingSince, null);
  }
  held.resolve(new Response());
});
