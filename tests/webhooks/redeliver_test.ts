import { assertEquals, assertRejects } from "@std/assert";
import { DeliveryNotFoundError } from "../../webhooks/mod.ts";
import { eventually } from "../conformance/eventually.ts";
import { Receiver } from "./support/receiver.ts";
import { Site } from "./support/site.ts";

Deno.test("redeliver() takes each once, however fast the receiver refuses them again", async () => {
  const settings = { inFlight: 100, permanentStatuses: [404] };
  await using site = await Site.open({ concurrency: 100, settings });
  await using receiver = new Receiver();
  receiver.answer = () => new Response(null, { status: 404 });
  const { id } = await site.endpoint(receiver.url);
  const count = 250;
  await site.main.runtime.recorder.recordMany(
    Array.from({ length: count }, () => ({ type: "order.placed", subject: "order:1" })),
  );
  await site.untilState(id, "discarded", count);
  const { webhooks } = site.main;
  const late = new Promise<string>((resolve) => setTimeout(resolve, 30_000, "it goes on and on"));
  assertEquals(await Promise.race([webhooks.redeliver(id), late]), count);
  await receiver.until(2 * count);
  await site.untilState(id, "discarded", count);
  assertEquals(receiver.got.length, 2 * count);
});

Deno.test("redeliver() gives all attempts again to what has used them up, on the schedule's first delays", async () => {
  await using site = await Site.open({
    settings: { maxAttempts: 3, scheduleMs: [20, 20, 60_000], probeMs: 20 },
  });
  await using receiver = new Receiver();
  receiver.answer = (_, count) => new Response(null, { status: count <= 5 ? 500 : 200 });
  const { id } = await site.endpoint(receiver.url);
  await site.record({});
  const [discarded] = await site.untilState(id, "discarded");
  assertEquals(discarded!.attempts, 3);
  assertEquals(await site.main.webhooks.redeliver(id), 1);
  const [delivered] = await site.untilState(id, "delivered");
  assertEquals([delivered!.attempts, delivered!.log.length, receiver.got.length], [3, 6, 6]);
  const job = (await site.main.runtime.get(delivered!.jobId))!;
  await eventually(async () => (await site.main.runtime.get(job.id))!.state === "completed", 20_000);
});

Deno.test("redeliver() loses nothing whose job has not ended yet, and gives it all attempts too", async () => {
  await using site = await Site.open({ settings: { maxAttempts: 3, scheduleMs: [20], probeMs: 20 } });
  await using slow = new Receiver();
  await using receiver = new Receiver();
  const first = await site.endpoint(slow.url, { eventTypes: ["order.paid"] });
  const { id } = await site.endpoint(receiver.url, { eventTypes: ["order.placed"] });
  // The ends of jobs travel in batches: while one takes its time, those after it are on record as running.
  await site.sql.unsafe(`
    create function ${site.schema}.slowly() returns trigger language plpgsql as $$
      begin
        if new.args->>'endpoint_id' = '${first.id}' then perform pg_sleep(2); end if;
        return new;
      end
    $$;
    create trigger slowly before insert on ${site.schema}.job_history
      for each row execute function ${site.schema}.slowly()`);
  receiver.answer = async (_, count) => {
    if (count === 3) {
      await site.record({}, null, "order.paid");
      await site.untilState(first.id, "delivered");
    }
    return new Response(null, { status: count <= 5 ? 500 : 200 });
  };
  await site.record({});
  await site.untilState(id, "discarded");
  assertEquals(await site.main.webhooks.redeliver(id), 1);
  const [delivered] = await site.untilState(id, "delivered");
  assertEquals([delivered!.attempts, receiver.got.length], [3, 6]);
});

Deno.test("redeliver() repeats no test, unless it is named", async () => {
  await using site = await Site.open();
  await using receiver = new Receiver();
  receiver.answer = () => new Response(null, { status: 500 });
  const { id } = await site.endpoint(receiver.url);
  await site.main.webhooks.sendTest(id);
  const [test] = await site.untilState(id, "discarded");
  assertEquals(await site.main.webhooks.redeliver(id), 0);
  receiver.answer = () => new Response(null, { status: 204 });
  assertEquals(await site.main.webhooks.redeliver(id, test!.id), 1);
  await site.untilState(id, "delivered");
});

Deno.test("redeliver() of one that waits sends it now, with the attempts that it has left", async () => {
  await using site = await Site.open({ settings: { scheduleMs: [60_000], probeMs: 60_000, maxAttempts: 2 } });
  await using receiver = new Receiver();
  receiver.answer = (_, count) => new Response(null, { status: count === 1 ? 500 : 200 });
  const { webhooks } = site.main;
  const { id } = await site.endpoint(receiver.url);
  await site.record({});
  const [waiting] = await site.untilTried(id);
  // Its pause would hold it up.
  await webhooks.update(id, { enabled: true });
  assertEquals(await webhooks.redeliver(id), 0);
  assertEquals(await webhooks.redeliver(id, waiting!.id), 1);
  const [delivered] = await site.untilState(id, "delivered");
  assertEquals([delivered!.attempts, delivered!.jobId], [2, waiting!.jobId]);
  const other = await site.endpoint(receiver.url, { eventTypes: ["order.paid"] });
  for (const [endpoint, id] of [[other.id, waiting!.id], [other.id, "999999999"]] as const) {
    const error = await assertRejects(() => webhooks.redeliver(endpoint, id), DeliveryNotFoundError);
    assertEquals(error.deliveryId, id);
  }
});
