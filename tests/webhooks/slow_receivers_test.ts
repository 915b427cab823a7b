import { assertEquals } from "@std/assert";
import { Receiver } from "./support/receiver.ts";
import { Site } from "./support/site.ts";

Deno.test("receivers that take their time leave the slots to the others, however many of them there are", async () => {
  await using site = await Site.open({ concurrency: 2 });
  await using slow = new Receiver();
  await using quick = new Receiver();
  const end = Promise.withResolvers<Response>();
  slow.answer = () => end.promise;
  for (let index = 0; index < 5; index++) {
    await site.endpoint(`${slow.url}?n=${index}`, { eventTypes: ["order.paid"] });
  }
  const { id } = await site.endpoint(quick.url, { eventTypes: ["order.placed"] });
  for (let count = 0; count < 2; count++) await site.record({}, null, "order.paid");
  await slow.until(10);
  for (let count = 1; count <= 3; count++) {
    await site.record({ count });
    await site.untilState(id, "delivered", count);
  }
  // None of them was ended for it.
  assertEquals([slow.got.length, quick.got.length], [10, 3]);
  end.resolve(new Response());
});
