import { assert, assertEquals } from "@std/assert";
import { Receiver } from "./support/receiver.ts";
import { Site } from "./support/site.ts";

function numbers(receiver: Receiver): number[] {
  return receiver.got.map(({ text }) => JSON.parse(text).data.number);
}

Deno.test("an ordered endpoint gets one after the other, by two processes, and waits behind a failure", async () => {
  await using site = await Site.open({ settings: { scheduleMs: [100], probeMs: 100, leaseMs: 20_000 } });
  const second = site.build();
  await second.runtime.start();
  let [now, most] = [0, 0];
  await using receiver = new Receiver();
  const failures = new Map<number, number>([[5, 2], [11, 1]]);
  receiver.answer = async ({ text }) => {
    most = Math.max(most, ++now);
    await new Promise((resolve) => setTimeout(resolve, 2));
    now--;
    const { number } = JSON.parse(text).data;
    const left = failures.get(number) ?? 0;
    failures.set(number, left - 1);
    return new Response(null, { status: left > 0 ? 500 : 200 });
  };
  const { id } = await site.endpoint(receiver.url, { ordered: true });
  for (let number = 0; number < 20; number++) await site.record({ number });
  const deliveries = await site.untilState(id, "delivered", 20);
  assertEquals(most, 1);
  const order = deliveries.map(({ eventId }) => eventId);
  const came = receiver.got.map(({ headers }) => headers.get("webhook-id")!);
  // In the order of the fan-out, and each failure is repeated before anything else comes.
  assertEquals(came.filter((event, index) => event !== came[index + 1]), order);
  assertEquals(came.length, 23);
  assertEquals(numbers(receiver).filter((number) => number === 5).length, 3);
  const { attempts } = deliveries.find(({ log }) => log.length === 3)!;
  assertEquals(attempts, 3);
  // The jobs end as their deliveries did, whoever made those.
  for (const { jobId } of deliveries) {
    const result = await site.main.runtime.wait(jobId, 20_000);
    assert(result.done && result.state === "completed");
  }
});

Deno.test("an ordered endpoint goes on behind what is given up", async () => {
  await using site = await Site.open({ settings: { scheduleMs: [20], probeMs: 20, maxAttempts: 3 } });
  await using receiver = new Receiver();
  receiver.answer = ({ text }) => {
    const { number } = JSON.parse(text).data;
    return new Response(null, { status: number === 1 ? 500 : number === 2 ? 400 : 200 });
  };
  const { id } = await site.endpoint(receiver.url, { ordered: true });
  for (let number = 0; number < 4; number++) {
    await site.record({ number });
    await receiver.until(number + 1);
    if (number === 0) await site.untilState(id, "delivered");
  }
  const deliveries = await site.untilState(id, "delivered", 2);
  assertEquals(deliveries.map(({ state, attempts }) => [state, attempts]), [
    ["delivered", 1],
    ["discarded", 3],
    ["discarded", 1],
    ["delivered", 1],
  ]);
  assertEquals(numbers(receiver), [0, 1, 1, 1, 2, 3]);
  const result = await site.main.runtime.wait(deliveries[1]!.jobId, 20_000);
  assert(result.done && result.state === "discarded");
  assertEquals(result.error, `webhook endpoint ${id}: the receiver answered 500`);
});
