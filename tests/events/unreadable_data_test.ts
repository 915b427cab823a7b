import { assertEquals, assertRejects } from "@std/assert";
import { captureChanges } from "../../mod.ts";
import { Bus, keeping } from "./support/bus.ts";

Deno.test("data whose text PostgreSQL can't make is refused where it is written, and holds up no relay", async () => {
  await using bus = await Bus.open();
  const { schema } = bus;
  const orders = keeping("orders");
  await bus.sql.unsafe(`create table ${schema}.doc (id int primary key, body jsonb)`);
  await bus.sql.unsafe(
    captureChanges({
      table: "doc",
      tableSchema: schema,
      key: ["id"],
      columns: ["body"],
      type: "order.changed",
      schema,
    }).up,
  );
  await bus.started([orders.subscription]);
  const assertDelivered = async () => {
    for (let tries = 0; tries < 400; tries++) {
      if ((await bus.sql.unsafe(`select from ${schema}.outbox where fanned_out_at is not null`)).length > 0) {
        return;
      }
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    throw new Error("not fanned out within 20 s");
  };
  const insert = (id: number, numbers: string[]) =>
    bus.sql.unsafe(`insert into ${schema}.doc values ($1, $2::text::jsonb)`, [id, `[${numbers.join()}]`]);
  // 5 KB of JSON are 78 MB of text; 12 MB of control characters are 72.
  await assertRejects(() => insert(1, Array(600).fill("1e131071")), Error, "more than 64 MiB as text");
  await assertRejects(
    () =>
      bus.sql.unsafe(
        `insert into ${schema}.outbox (type, subject, data)
        select 'order.changed', 'x', to_jsonb(repeat(chr(1), 12000000))`,
      ),
    Error,
    "more than 64 MiB as text",
  );
  await insert(2, ["1e300", "1"]);
  await assertDelivered();
  assertEquals((await bus.sql.unsafe(`select from ${schema}.outbox`)).length, 1);
});
