import { assert, assertEquals } from "@std/assert";
import { Webhook } from "standardwebhooks";
import type { Json } from "../../mod.ts";
import { Receiver } from "./support/receiver.ts";
import { Site } from "./support/site.ts";

const DATA: readonly Json[] = [
  { emoji: "\u{1f469}\u200d\u{1f680}\u{1f3f3}\ufe0f\u200d\u{1f308}" },
  {
    accents: "e\u0301 n\u0303 Zo\u00eb",
    rightToLeft: "\u05e9\u05dc\u05d5\u05dd \u0645\u0631\u062d\u0628\u0627",
  },
  { separators: "a\u2028b\u2029c", escapes: '" \\ / \b \f \n \r \t \u007f' },
  { large: 1234567890123456789, one: 1.0, small: 5e-324, digits: "1234567890123456789" },
  { z: 1, a: { y: 2, b: 3 }, 10: "ten", 9: "nine" },
  {},
  [],
  null,
  "a.b.c",
  { much: "\u00e9".repeat(250_000) },
  // Text that must be escaped is twice as long on its way to the process that sends.
  { quotes: '"\\'.repeat(230_000) },
];

Deno.test("whatever the data, each attempt's bytes verify, are the same, and count as Content-Length says", async () => {
  await using site = await Site.open();
  await using receiver = new Receiver();
  const seen = new Map<string, number>();
  receiver.answer = ({ headers }) => {
    const id = headers.get("webhook-id")!;
    seen.set(id, (seen.get(id) ?? 0) + 1);
    return new Response(null, { status: seen.get(id)! < 3 ? 500 : 200 });
  };
  const { id, secret } = await site.endpoint(receiver.url);
  const theirs = new Webhook(secret);
  // One after the other: a failing endpoint is sent one at a time.
  for (const data of DATA) {
    const eventId = await site.record(data);
    await receiver.until(receiver.got.length + 1);
    // Between two attempts the process is another one.
    if (data === DATA[0]) {
      await site.main.runtime.stop(500);
      const next = site.build();
      site.processes.unshift(site.processes.pop()!);
      await next.runtime.start();
    }
    const { length } = (await site.untilState(id, "delivered", DATA.indexOf(data) + 1)).filter((each) =>
      each.state === "delivered"
    );
    assertEquals(length, DATA.indexOf(data) + 1);
    const attempts = receiver.got.filter(({ headers }) => headers.get("webhook-id") === eventId);
    assertEquals(attempts.length, 3);
    for (const { headers, body, text } of attempts) {
      assertEquals(body.length, Number(headers.get("content-length")));
      assertEquals(body, attempts[0]!.body);
      theirs.verify(text, Object.fromEntries(headers));
      assertEquals(JSON.parse(text).data, data);
      assert(!headers.get("webhook-id")!.includes("."));
    }
  }
});

Deno.test("numbers that only text can hold are sent digit by digit", async () => {
  await using site = await Site.open();
  await using receiver = new Receiver();
  const { id } = await site.endpoint(receiver.url);
  // As a trigger records it, which reads no JSON.
  const data = '{"id": 1970670598291982290, "one": 1.0, "exact": 0.1000000000000000055511151231257827}';
  await site.sql.unsafe(
    `insert into ${site.schema}.outbox (type, subject, data) values ('order.placed', 'order:1', $1::text::jsonb)`,
    [data],
  );
  await site.untilState(id, "delivered");
  assert(receiver.got[0]!.text.endsWith(`"data":${data}}`), receiver.got[0]!.text);
});
