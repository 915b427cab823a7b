import { assert, assertEquals } from "@std/assert";
import { resolveWebhookSettings } from "../../webhooks/settings.ts";
import { eventually, pause } from "../conformance/eventually.ts";
import { Receiver } from "./support/receiver.ts";
import { Site } from "./support/site.ts";

/** The times that users get. */
const { scheduleMs, probeMs } = resolveWebhookSettings();
const settings = { scheduleMs, probeMs };
const GOOD = 100;
const GOOD_MS_MAX = 10_000;

function isBad(text: string): boolean {
  return JSON.parse(text).type === "order.paid";
}

/** What was attempted of each event that came more than once. */
async function attemptsOfTwice(site: Site, endpointId: string, came: readonly string[]): Promise<string> {
  const twice = came.filter((id, place) => came.indexOf(id) !== place);
  const deliveries = await site.main.webhooks.deliveries({ endpointId, limit: 1000 });
  const told = deliveries.filter(({ eventId }) => twice.includes(eventId));
  return `came twice: ${JSON.stringify(told, null, 2)}`;
}

for (const status of [500, 422]) {
  for (const bad of [1, 25, 100]) {
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
      const came = receiver.got.filter(({ text }) => !isBad(text)).map(({ text }) => JSON.parse(text).id);
      assertEquals(came.toSorted(), good.toSorted(), await attemptsOfTwice(site, id, came));
      // Those that are bad are not asked again and again for the sake of the others: at most once more each, and probes.
      const asked = receiver.got.length - GOOD;
      assert(asked <= 2 * bad + 10, `${bad} bad events were sent ${asked} times`);
    });
  }
}

const MET_MS_MAX = 1000;

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
      assert(tookMs < MET_MS_MAX, `round ${round}: the good delivery came after ${tookMs} ms`);
      await silent.until(Math.min(endpoints, 12));
    }
    end.resolve(new Response());
  });
}

Deno.test("a receiver that was away for an hour gets all within a minute of its return, and 2 requests a minute until then", async () => {
  await using site = await Site.open({ settings });
  await using receiver = new Receiver();
  receiver.answer = () => new Response(null, { status: 503 });
  const { id } = await site.endpoint(receiver.url);
  const record = (length: number) =>
    site.main.runtime.recorder.recordMany(
      Array.from({ length }, () => ({ type: "order.placed", subject: "order:1" })),
    );
  await record(50);
  await eventually(async () => (await site.main.webhooks.get(id)).paused, 20_000);
  // As it is after an hour: the longest pause, and what was tried has its next attempt far ahead.
  await site.sql.unsafe(`
    update ${site.schema}.webhook_endpoint
    set failures = 20, failing_since = now() - interval '1 hour', next_probe_at = now() + interval '30 s';
    update ${site.schema}.webhook_delivery
    set due_at = now() + interval '2 hours', attempts = 4 where log <> '[]'`);
  await pause(2000);
  const before = receiver.got.length;
  await record(100);
  await pause(60_000);
  const asked = receiver.got.length - before;
  assert(asked >= 1 && asked <= 2, `${asked} requests in a minute`);
  receiver.answer = () => new Response(null, { status: 204 });
  const began = performance.now();
  await eventually(async () => {
    const delivered = await site.main.webhooks.deliveries({
      endpointId: id,
      state: "delivered",
      limit: 1000,
    });
    return delivered.length === 150;
  }, 60_000);
  assert(performance.now() - began < 60_000);
});
