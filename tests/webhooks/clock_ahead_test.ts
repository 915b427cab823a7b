import { assert, assertEquals } from "@std/assert";
import { eventually } from "../conformance/eventually.ts";
import { Receiver } from "./support/receiver.ts";
import { Site } from "./support/site.ts";

const AHEAD = "clock_timestamp() + interval '30 days'";

for (const ordered of [false, true]) {
  Deno.test(
    `a pause and a lease from a time when the clock was ahead are taken back, ${
      ordered ? "in order" : "in any order"
    }`,
    async () => {
      await using site = await Site.open();
      await using receiver = new Receiver();
      const { id } = await site.endpoint(receiver.url, { ordered });
      await site.sql.unsafe(`
      update ${site.schema}.webhook_endpoint
      set failing_since = ${AHEAD}, failures = 1, next_probe_at = ${AHEAD}, busy_until = ${AHEAD},
        busy_by = gen_random_uuid()
      where id = '${id}'`);
      await site.record({});
      await site.untilState(id, "delivered");
      await eventually(async () => (await site.main.webhooks.get(id)).failingSince === null, 10_000);
      assert(site.main.lines.some((line) => line.includes("was the clock ahead?")));
    },
  );
}

Deno.test("deliveries that were made while the clock was ahead end no sweep, and are swept themselves", async () => {
  await using site = await Site.open({ settings: { retentionMs: 0 } });
  await using receiver = new Receiver();
  const { id } = await site.endpoint(receiver.url);
  for (let n = 0; n < 3; n++) await site.record({ n });
  await site.untilState(id, "delivered", 3);
  const { runtime } = site.main;
  await site.sql.unsafe(`
    update ${site.schema}.webhook_delivery set created_at = ${AHEAD}
    where seq = (select min(seq) from ${site.schema}.webhook_delivery);
    insert into ${site.schema}.webhook_delivery (endpoint_id, message_id, replay, job_id, created_at, queued_at)
    select endpoint_id, message_id, 'ahead', '999999999', ${AHEAD}, ${AHEAD} from ${site.schema}.webhook_delivery limit 1`);
  assertEquals((await runtime.wait(await runtime.runPeriodic("webhooks.jobless"), 10_000)).done, true);
  const ahead = await site.sql.unsafe(`
    select state from ${site.schema}.webhook_delivery where replay = 'ahead'`);
  assertEquals(ahead[0]!.state, "discarded");
  await eventually(async () => {
    await runtime.wait(await runtime.runPeriodic("webhooks.retention"), 10_000);
    return (await site.sql.unsafe(`select from ${site.schema}.webhook_delivery`)).length === 0;
  }, 20_000);
});
