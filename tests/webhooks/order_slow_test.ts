import { assertEquals } from "@std/assert";
import { eventually, pause } from "../conformance/eventually.ts";
import { Receiver } from "./support/receiver.ts";
import { Site } from "./support/site.ts";

Deno.test("an ordered endpoint gets events in the order in which they were recorded, by any number of processes", async () => {
  await using site = await Site.open();
  for (let more = 0; more < 2; more++) await site.build().runtime.start();
  await using receiver = new Receiver();
  const { id } = await site.endpoint(receiver.url, { ordered: true });
  await site.endpoint(receiver.url + "/any");
  const count = 150;
  const recorders = site.processes.map(({ runtime }) => runtime.recorder);
  for (let number = 0; number < count; number++) {
    await recorders[number % recorders.length]!.record({
      type: "order.placed",
      subject: "a",
      data: { number },
    });
  }
  await site.untilState(id, "delivered", count);
  const inLine = receiver.got.filter(({ path }) => !path.endsWith("/any"));
  assertEquals(
    inLine.map(({ text }) => JSON.parse(text).data.number),
    Array.from({ length: count }, (_, at) => at),
  );
});

Deno.test("the line of an ordered endpoint that another process works on does not keep this one busy", async () => {
  await using site = await Site.open({ settings: { scheduleMs: [1000], probeMs: 10_000 } });
  await using receiver = new Receiver();
  const { id } = await site.endpoint(receiver.url, { ordered: true });
  // As the other process has it while it works.
  await site.sql.unsafe(
    `update ${site.schema}.webhook_endpoint
     set busy_until = clock_timestamp() + interval '1 min', busy_by = gen_random_uuid()`,
  );
  const count = 200;
  await site.main.runtime.recorder.recordMany(
    Array.from({ length: count }, () => ({ type: "order.placed", subject: "order:1" })),
  );
  await site.untilState(id, "waiting", count);
  const runs = async (): Promise<number> => {
    const [row] = await site.sql.unsafe(
      `select sum(run)::int as runs from ${site.schema}.job where kind = 'webhook.deliver'`,
    );
    return Number(row!.runs);
  };
  // After their first looks they come to rest. Else each of them would come back every second.
  await eventually(async () => {
    const before = await runs();
    await pause(2000);
    return before >= count && await runs() - before < count / 2;
  }, 45_000);
  await site.sql.unsafe(`update ${site.schema}.webhook_endpoint set busy_until = null, busy_by = null`);
  await receiver.until(count / 2);
});
