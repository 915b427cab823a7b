import { assert, assertEquals } from "@std/assert";
import { pause } from "../conformance/eventually.ts";
import { Receiver } from "./support/receiver.ts";
import { Site } from "./support/site.ts";

Deno.test("receivers that take their time have at most half of the slots among them, and the others come through", async () => {
  const slots = 8;
  await using site = await Site.open({ concurrency: slots });
  await using slow = new Receiver();
  await using quick = new Receiver();
  let [now, most] = [0, 0];
  slow.answer = async () => {
    most = Math.max(most, ++now);
    await pause(1200);
    now--;
    return new Response();
  };
  // Each by itself would be given all of the slots.
  for (let index = 0; index < 2; index++) await site.endpoint(slow.url, { eventTypes: ["order.paid"] });
  const { id } = await site.endpoint(quick.url, { eventTypes: ["order.placed"] });
  await site.main.runtime.recorder.recordMany(
    Array.from({ length: 20 }, () => ({ type: "order.paid", subject: "order:1" })),
  );
  // How long they take is known once they have answered.
  await slow.until(3 * slots);
  most = 0;
  const before = slow.got.length;
  for (let count = 0; count < 20; count++) await site.record({ count });
  await site.untilState(id, "delivered", 20);
  await slow.until(before + slots);
  assert(most <= slots / 2, `${most} of ${slots} slots were taken by receivers that take their time`);
  assertEquals(quick.got.length, 20);
});
