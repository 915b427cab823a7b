import { assert, assertEquals } from "@std/assert";
import { DEFAULT_WEBHOOK_SETTINGS } from "../../events/webhooks/mod.ts";
import { eventually } from "../conformance/eventually.ts";
import { Receiver } from "./support/receiver.ts";
import { Site } from "./support/site.ts";

/** The times that users get. */
const { scheduleMs, probeMs } = DEFAULT_WEBHOOK_SETTINGS;
const settings = { scheduleMs, probeMs };
const GOOD = 100;
const GOOD_MS_MAX = 10_000;

function isBad(text: string): boolean {
  return JSON.parse(text).type === "order.paid";
}

for (const status of [500, 422]) {
  for (const bad of [1, 25]) {
    Deno.test(`${bad} bad events, answered ${status}, hold up none of the ${GOOD} good ones behind them`, async () => {
      await using site = await Site.open({ settings });
      await using receiver = new Receiver();
      receiver.answer = ({ text }) => new Response(null, { status: isBad(text) ? status : 204 });
      const { id } = await site.endpoint(receiver.url);
      const { recorder } = site.main.runtime;
      const record = (type: string, length: number) =>
        recorder.recordMany(Array.from({ length }, () => ({ type, subject: "order:1" })));
      await record("order.paid", bad);
      await receiver.until(1);
      const began = performance.now();
      const good = await record("order.placed", GOOD);
      await eventually(async () => {
        const delivered = await site.main.webhooks.deliveries({
          endpointId: id,
          state: "delivered",
          limit: 1000,
        });
        return delivered.length === GOOD;
      }, GOOD_MS_MAX);
      assert(performance.now() - began < GOOD_MS_MAX);
      const came = receiver.got.filter(({ text }) => !isBad(text));
      assertEquals(came.map(({ text }) => JSON.parse(text).id).sort(), good.toSorted());
      // Those that are bad are not asked again and again for the sake of the others: at most once more each, and probes.
      const asked = receiver.got.length - GOOD;
      assert(asked <= 2 * bad + 10, `${bad} bad events were sent ${asked} times`);
    });
  }
}

Deno.test("what fails by itself says nothing of its endpoint: its neighbours never wait, and the endpoint is well", async () => {
  await using site = await Site.open({ settings: { scheduleMs: [30], probeMs: 30, maxAttempts: 1000 } });
  await using receiver = new Receiver();
  receiver.answer = ({ text }) => new Response(null, { status: isBad(text) ? 500 : 204 });
  const { id } = await site.endpoint(receiver.url);
  await site.record({}, null, "order.paid");
  await receiver.until(3);
  for (let good = 1; good <= 5; good++) {
    await site.record({});
    await site.untilState(id, "delivered", good);
  }
  const before = receiver.got.length;
  await receiver.until(before + 5);
  const endpoint = await site.main.webhooks.get(id);
  assertEquals([endpoint.failingSince, endpoint.paused], [null, false]);
});
