import { assertEquals } from "@std/assert";
import { eventually } from "../conformance/eventually.ts";
import { Bus, keeping, placed } from "./support/bus.ts";

const DEADLINE_MS = 20_000;
const AHEAD = "clock_timestamp() + interval '30 days'";

Deno.test("what relays stored while the clock was ahead holds up nobody when it is right again", async () => {
  await using bus = await Bus.open();
  const { sql, schema } = bus;
  // A newer set, relayed by a process that is gone: its last word is from a time to come, and so is its mark.
  const newer = await bus.started([keeping("orders").subscription, keeping("newer").subscription]);
  await newer.stop();
  const orders = keeping("orders");
  const older = bus.runtime([orders.subscription]);
  await sql.unsafe(`
    insert into ${schema}.subscription_set (fingerprint, subscriptions)
    select md5('known'), '[]';
    insert into ${schema}.relay (owner, fingerprint, renewed_at, awake_until)
    values (gen_random_uuid(), md5('known'), ${AHEAD}, ${AHEAD})`);
  const failed = await older.recorder.record(placed(1));
  await sql.unsafe(`update ${schema}.outbox set failures = 1, retry_at = ${AHEAD} where id = '${failed}'`);
  await older.start();
  await eventually(() => orders.got.length === 1, DEADLINE_MS);
  // With its own relay asleep, only a notification finds this one before the sweep.
  await sql.unsafe(`
    insert into ${schema}.relay (owner, fingerprint, renewed_at, awake_until)
    values (gen_random_uuid(), md5('gone'), now(), ${AHEAD})`);
  await older.recorder.record(placed(2));
  await eventually(() => orders.got.length === 2, 4000);
  await eventually(async () => {
    const rows = await sql.unsafe(`select from ${schema}.relay where renewed_at > now() + interval '1 day'`);
    assertEquals(rows.length, 0);
    return true;
  }, DEADLINE_MS);
});
