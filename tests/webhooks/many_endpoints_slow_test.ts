import { assert, assertEquals } from "@std/assert";
import { Receiver } from "./support/receiver.ts";
import { Site } from "./support/site.ts";

Deno.test("an event reaches 1,200 endpoints, each once, and those that fail hold up none of the others", async () => {
  await using site = await Site.open({ concurrency: 100 });
  await using receiver = new Receiver();
  await using broken = new Receiver();
  broken.answer = () => new Response(null, { status: 500 });
  const count = 1200;
  const waiting = Array.from({ length: count }, (_, index) => index);
  const ids: string[] = [];
  await Promise.all(Array.from({ length: 10 }, async () => {
    for (let index = waiting.pop(); index !== undefined; index = waiting.pop()) {
      ids.push((await site.endpoint(`${(index % 12 === 0 ? broken : receiver).url}?n=${index}`)).id);
    }
  }));
  assertEquals((await site.main.webhooks.list({ ownerId: null })).length, count);
  const events = [await site.record({ first: true }), await site.record({ second: true })];
  await receiver.until(2 * (count - count / 12));
  const seen = new Map<string, number>();
  for (const { headers } of receiver.got) {
    const id = headers.get("webhook-id")!;
    seen.set(id, (seen.get(id) ?? 0) + 1);
  }
  assertEquals([...seen.entries()].sort(), events.toSorted().map((id) => [id, 1100]));
  const [{ delivered, waits }] = await site.sql.unsafe(
    `select
       count(*) filter (where state = 'delivered')::int as delivered,
       count(*) filter (where state = 'waiting')::int as waits
     from ${site.schema}.webhook_delivery`,
  ) as unknown as [{ delivered: number; waits: number }];
  assert(delivered <= 2200 && delivered + waits === 2400, `${delivered} were delivered, ${waits} wait`);
  broken.answer = () => new Response();
  for (const id of ids.slice(0, 50)) await site.untilState(id, "delivered", 2);
});
