import { assert } from "@std/assert";
import { Receiver } from "./support/receiver.ts";
import { Site } from "./support/site.ts";

const GOOD_MS_MAX = 1000;

for (
  const [concurrency, endpoints, events] of [[100, 13, 8], [4, 12, 1]] as const
) {
  Deno.test(`${endpoints} silent endpoints that nobody has met, ${events} events each, leave ${concurrency} slots to the others within 1 s`, async () => {
    await using site = await Site.open({ concurrency });
    await using silent = new Receiver();
    await using receiver = new Receiver();
    const end = Promise.withResolvers<Response>();
    silent.answer = () => end.promise;
    for (let index = 0; index < endpoints; index++) {
      await site.endpoint(`${silent.url}?n=${index}`, { eventTypes: ["order.paid"] });
    }
    await site.endpoint(receiver.url, { eventTypes: ["order.placed"] });
    const { recorder } = site.main.runtime;
    await recorder.recordMany(
      Array.from({ length: events }, () => ({ type: "order.paid", subject: "order:1" })),
    );
    await silent.until(1);
    // Twice: while they are new, and when it is known that they take long.
    for (const round of [1, 2]) {
      const before = receiver.got.length;
      const began = performance.now();
      await site.record({ round });
      await receiver.until(before + 1);
      const tookMs = performance.now() - began;
      assert(tookMs < GOOD_MS_MAX, `round ${round}: the good delivery came after ${tookMs} ms`);
      await silent.until(Math.min(endpoints, 12));
    }
    end.resolve(new Response());
  });
}
