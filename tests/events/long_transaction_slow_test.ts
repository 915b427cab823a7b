import { assert, assertEquals } from "@std/assert";
import { eventually } from "../conformance/eventually.ts";
import { Bus, keeping, placed } from "./support/bus.ts";

/** Ten minutes, in the tenth-length times of these tests; ten sweeps. */
const OPEN_MS = 60_000;

Deno.test("an event of a transaction that stays open for ten sweeps is delivered soon after its commit, once", async () => {
  await using bus = await Bus.open();
  const orders = keeping("orders");
  const runtime = await bus.started([orders.subscription]);
  const late = await bus.sql.begin(async (tx) => {
    const id = await runtime.recorder.with(tx).record(placed(1));
    const end = performance.now() + OPEN_MS;
    let others = 1;
    while (performance.now() < end) {
      const other = await runtime.recorder.record(placed(++others));
      assert((await runtime.events.awaitFanout(other, 20_000)).fannedOut);
      // What is tested is time that passes.
      await new Promise((resolve) => setTimeout(resolve, 500));
    }
    return id;
  });
  assert((await runtime.events.awaitFanout(late, 20_000)).fannedOut);
  await eventually(() => orders.got.some(({ event_id }) => event_id === late), 20_000);
  assertEquals(orders.got.filter(({ event_id }) => event_id === late).length, 1);
});
