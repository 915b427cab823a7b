import { assertEquals, assertRejects } from "@std/assert";
import { InvalidOptionError } from "../../ports/errors.ts";
import { Bus, keeping, placed } from "./support/bus.ts";

/** Transactions of other tests on this server may be open for a while. */
const GONE_MS = 60_000;

Deno.test("awaitFanout() gives each reason why there is no fan-out its own answer", async () => {
  await using bus = await Bus.open();
  const runtime = bus.runtime([keeping("orders").subscription]);
  const { events, recorder } = runtime;
  const id = await recorder.record(placed(1));
  assertEquals(await events.awaitFanout(id, 50), { fannedOut: false, reason: "timeout" });
  assertEquals(await events.awaitFanout(crypto.randomUUID(), GONE_MS), { fannedOut: false, reason: "gone" });
  let rolledBack: Promise<unknown> = Promise.resolve();
  await assertRejects(() =>
    bus.sql.begin(async (tx) => {
      rolledBack = events.awaitFanout(await recorder.with(tx).record(placed(2)), GONE_MS);
      // It is looked for meanwhile, and not taken for gone.
      assertEquals(await events.awaitFanout(id, 100), { fannedOut: false, reason: "timeout" });
      assertEquals(await Promise.race([rolledBack, "waits"]), "waits");
      throw new Error("changed its mind");
    })
  );
  assertEquals(await rolledBack, { fannedOut: false, reason: "gone" });
  await bus.sql.unsafe(`update ${bus.schema}.outbox set poisoned_at = now() where id = '${id}'`);
  assertEquals(await events.awaitFanout(id, GONE_MS), { fannedOut: false, reason: "poisoned" });
  const waiting = await recorder.record(placed(3));
  const controller = new AbortController();
  const aborted = events.awaitFanout(waiting, GONE_MS, { signal: controller.signal });
  const reason = new Error("the caller has left");
  controller.abort(reason);
  assertEquals(await aborted.catch((error) => error), reason);
  await assertRejects(() => events.awaitFanout("no id", 0), InvalidOptionError);
  await assertRejects(() => events.awaitFanout(id, 0, { signal: 1 } as never), InvalidOptionError);
  const stopped = events.awaitFanout(waiting, GONE_MS);
  await runtime.stop();
  assertEquals(await stopped, { fannedOut: false, reason: "stopped" });
});
