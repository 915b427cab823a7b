import { assert, assertEquals } from "@std/assert";
import { eventually, pause } from "../conformance/eventually.ts";
import { Receiver } from "./support/receiver.ts";
import { Site } from "./support/site.ts";

Deno.test("an endpoint most of whose deliveries fail is tried one at a time, with pauses, and the first success frees all", async () => {
  await using site = await Site.open({ settings: { probeMs: 300, scheduleMs: [60_000], maxAttempts: 1000 } });
  let [now, most] = [0, 0];
  let fails = true;
  await using receiver = new Receiver();
  receiver.answer = async () => {
    most = Math.max(most, ++now);
    await pause(20);
    now--;
    return new Response(null, { status: fails ? 500 : 200 });
  };
  const { id } = await site.endpoint(receiver.url);
  const record = (length: number) =>
    site.main.runtime.recorder.recordMany(
      Array.from({ length }, () => ({ type: "order.placed", subject: "order:1" })),
    );
  await record(20);
  await eventually(async () => (await site.main.webhooks.get(id)).paused, 20_000);
  // What was under way when it began to pause, and the first short pauses.
  await eventually(async () => {
    const before = receiver.got.length;
    await pause(350);
    return receiver.got.length <= before + 1;
  }, 20_000);
  most = 0;
  await record(30);
  const before = receiver.got.length;
  await receiver.until(before + 3);
  assertEquals(most, 1);
  const gaps = receiver.got.slice(before).map(({ at }, index, all) =>
    index === 0 ? Infinity : at - all[index - 1]!.at
  );
  assert(gaps.every((gap) => gap > 250), gaps.join());
  fails = false;
  // Those in their backoff of a minute too.
  await site.untilState(id, "delivered", 50);
  const endpoint = await site.main.webhooks.get(id);
  assertEquals([endpoint.failingSince, endpoint.paused], [null, false]);
});
