import { assertEquals } from "@std/assert";
import { type Jobs, type Registrar, snooze, type Tx } from "../../mod.ts";
import { createTestBench } from "../../testing/mod.ts";

// The code under test.
const sent: string[] = [];
let mailServerIsUp = true;
let reportIsReady = false;

const orders: Registrar = {
  kinds: [
    {
      name: "order.mail",
      queue: "default",
      maxAttempts: 3,
      timeout: 30_000,
      handler(args) {
        if (!mailServerIsUp) throw new Error("no answer");
        sent.push((args as { orderId: string }).orderId);
      },
    },
    {
      name: "order.report",
      queue: "default",
      maxAttempts: 3,
      timeout: 30_000,
      handler() {
        if (!reportIsReady) throw snooze(60_000);
        return { pages: 3 };
      },
    },
  ],
};

async function placeOrder(tx: Tx, jobs: Jobs, orderId: string, now: Date): Promise<void> {
  await jobs.with(tx).enqueue("order.mail", { orderId });
  await jobs.with(tx).enqueue("order.report", { orderId }, { runAt: new Date(now.getTime() + 3_600_000) });
}

Deno.test("an order mails at once and makes its report an hour later", async () => {
  await using bench = createTestBench({ registrars: [orders], now: new Date("2026-03-01T12:00:00Z") });

  const tx = bench.begin();
  await placeOrder(tx, bench.runtime, "1", bench.now());
  assertEquals(await bench.enqueued(), []);
  await tx.commit();
  assertEquals((await bench.enqueued("order.mail")).map((job) => job.args), [{ orderId: "1" }]);

  assertEquals((await bench.drain()).map((job) => [job.kind, job.state]), [["order.mail", "completed"]]);
  assertEquals(sent, ["1"]);

  bench.advance(3_600_000);
  const [report] = await bench.drain();
  assertEquals([report!.state, report!.snoozes], ["pending", 1]);
  reportIsReady = true;
  bench.advance(60_000);
  assertEquals((await bench.drain()).map((job) => job.output), [{ pages: 3 }]);
});

Deno.test("a mail that can't be sent is tried three times, on the kind's backoff, and then discarded", async () => {
  await using bench = createTestBench({ registrars: [orders], now: new Date("2026-03-01T12:00:00Z") });
  mailServerIsUp = false;

  const first = await bench.perform("order.mail", { orderId: "2" });
  assertEquals([first.state, first.attempt, first.errors[0]!.message], ["retryable", 1, "no answer"]);

  const [last] = await bench.drain({ scheduled: true });
  assertEquals([last!.state, last!.attempt], ["discarded", 3]);
  assertEquals(bench.now().toISOString(), "2026-03-01T12:00:03.000Z");
  mailServerIsUp = true;
});
