import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { createLog, createMemoryRuntime } from "../../mod.ts";
import { toBase64 } from "../../events/signing/base64.ts";
import { Webhooks } from "../../webhooks/mod.ts";
import { WebhookVerifier } from "../../events/signing/verify.ts";
import { pause } from "../conformance/eventually.ts";
import { Receiver } from "./support/receiver.ts";
import { SECRET_KEY, Site, type SiteProcess } from "./support/site.ts";

const OTHER_KEY = toBase64(new Uint8Array(32).fill(9));
const TOLD = "webhook secrets can't be opened";

function told({ lines }: SiteProcess): Record<string, unknown>[] {
  return lines.filter((line) => line.includes(TOLD)).map((line) => JSON.parse(line));
}

Deno.test("a process with another key says so once, at its start, and the deliveries wait for the right one", async () => {
  for (const key of [`other:${OTHER_KEY}`, `main:${OTHER_KEY}`]) {
    await using site = await Site.prepare({ secretKey: `main:${SECRET_KEY}` });
    await using receiver = new Receiver();
    const { id, secret } = await site.endpoint(receiver.url);
    await using other = new Receiver();
    await site.endpoint(other.url, { eventTypes: ["order.paid"] });
    const ordered = await site.endpoint(other.url, { ordered: true });
    const lost = site.build({ secretKey: key });
    await lost.runtime.start();
    const [line, ...more] = told(lost);
    assertEquals(more, []);
    assertEquals([line!.level, line!.key, line!.secrets], ["error", "main", 3]);
    assertStringIncludes(String(line!.remedy), "MILLRACE_SECRET_KEY");
    for (let count = 0; count < 3; count++) await site.record({ count });
    // Each is looked at again and again, and spends nothing.
    await site.untilState(id, "waiting", 3);
    await site.untilState(ordered.id, "waiting", 3);
    while ((await site.untilState(id, "waiting", 3)).some(({ log }) => log.length < 3)) await pause(20);
    assertEquals(told(lost).length, 1);
    assertEquals(lost.lines.filter((line) => line.includes("could not be sent")), []);
    const waiting = await site.untilState(id, "waiting", 3);
    assertEquals(waiting.map(({ attempts }) => attempts), [0, 0, 0]);
    const error = "it could not be sent, for which its endpoint is not to blame";
    assertEquals(waiting[0]!.log[0]!.error, error);
    // Nothing of it is the endpoint's fault, and nothing is a job's.
    assertEquals((await site.main.webhooks.get(id)).failingSince, null);
    const job = (await site.main.runtime.get(waiting[0]!.jobId))!;
    assertEquals([job.errors, job.attempt <= 1], [[], true]);
    assertEquals(receiver.got.length, 0);
    await lost.runtime.stop(500);
    await site.main.runtime.start();
    assertEquals(told(site.main), []);
    const delivered = await site.untilState(id, "delivered", 3);
    await site.untilState(ordered.id, "delivered", 3);
    assertEquals(delivered.map(({ attempts }) => attempts), [1, 1, 1]);
    const { headers, body } = receiver.got[0]!;
    await new WebhookVerifier(secret).verify({ headers, body });
  }
});

Deno.test("a secret that was sealed later with a key that is not here is told once for its key, not per delivery", async () => {
  await using site = await Site.open();
  await using receiver = new Receiver();
  const newer = site.build({ secretKey: `new:${OTHER_KEY},${SECRET_KEY}` });
  const made = await Promise.all(
    [1, 2].map(() => newer.webhooks.create({ ownerId: null, url: receiver.url, eventTypes: ["order.*"] })),
  );
  for (let count = 0; count < 3; count++) await site.record({ count });
  for (const { endpoint: { id } } of made) {
    while ((await site.untilState(id, "waiting", 3)).some(({ log }) => log.length === 0)) await pause(20);
  }
  const lines = told(site.main);
  assertEquals(lines.map(({ key }) => key), ["new"]);
  await newer.runtime.start();
  for (const { endpoint: { id } } of made) await site.untilState(id, "delivered", 3);
  assertEquals(told(newer), []);
});

Deno.test("a secret whose text was changed is told once for its endpoint, and given up with the reason in the end", async () => {
  await using site = await Site.open({ settings: { giveUpAfterMs: 1000 } });
  await using receiver = new Receiver();
  const { id } = await site.endpoint(receiver.url);
  const fine = await site.endpoint(receiver.url);
  await site.sql.unsafe(
    `update ${site.schema}.webhook_endpoint
     set secrets = replace(secrets::text, 's1:', 's0:')::jsonb where id = $1`,
    [id],
  );
  await site.record({});
  await site.record({});
  const deliveries = await site.untilState(id, "discarded", 2);
  assertEquals(deliveries.map(({ attempts }) => attempts), [0, 0]);
  assertStringIncludes(deliveries[0]!.reason!, "could not be delivered within 1 s");
  // The owner is told no more than that it is not the receiver's fault.
  assertStringIncludes(
    deliveries[0]!.reason!,
    "it could not be sent, for which its endpoint is not to blame",
  );
  assertEquals(JSON.stringify(deliveries).includes("sealed"), false);
  assertEquals(JSON.stringify(deliveries).includes("MILLRACE_SECRET_KEY"), false);
  assertEquals(told(site.main).map(({ endpointId }) => endpointId), [id]);
  await site.untilState(fine.id, "delivered", 2);
});

Deno.test("a test that can't be signed ends at once and says why", async () => {
  await using site = await Site.prepare({ secretKey: `main:${SECRET_KEY}` });
  await using receiver = new Receiver();
  const { id } = await site.endpoint(receiver.url);
  const lost = site.build({ secretKey: `other:${OTHER_KEY}` });
  await lost.runtime.start();
  const { jobId } = await lost.webhooks.sendTest(id);
  const result = await lost.runtime.wait(jobId, 20_000);
  assert(result.done && result.state === "discarded");
  assertStringIncludes(result.error!, `webhook endpoint ${id}: it could not be sent`);
  assertStringIncludes(result.error!, "the key main, which is not in MILLRACE_SECRET_KEY");
});

Deno.test("a runtime in memory starts with webhooks in its composition, and says what it could not look at", async () => {
  const webhooks = new Webhooks({ secretKey: SECRET_KEY, isolation: "none" });
  const lines: string[] = [];
  await using runtime = createMemoryRuntime({
    registrars: [
      { eventTypes: [{ type: "order.placed", description: "An order.", subject: "its id" }] },
      webhooks.registrar,
    ],
    queues: [{ name: "webhook", concurrency: 1 }],
    log: createLog({ level: "warn", write: (line) => void lines.push(line) }),
  });
  await runtime.start();
  const line = lines.find((line) => line.includes("webhook secrets were not looked at"));
  assertStringIncludes(line ?? "", "a runtime in memory has none");
});
