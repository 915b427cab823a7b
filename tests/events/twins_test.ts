import { assertEquals } from "@std/assert";
import { eventually } from "../conformance/eventually.ts";
import { Bus, keeping, placed } from "./support/bus.ts";

Deno.test("a subscription with `unique` gets one job of the events that wait for the same subject", async () => {
  await using bus = await Bus.open();
  const { subscription, got } = keeping("index", { unique: { by: ["subject"] } });
  const runtime = await bus.started([subscription]);
  await runtime.pauseQueue("default");
  const ids = [];
  for (const order of [1, 1, 2]) ids.push(await runtime.recorder.record(placed(order)));
  for (const id of ids) await runtime.events.awaitFanout(id, 10_000);
  assertEquals((await runtime.list({ kind: "index" })).length, 2);
  await runtime.resumeQueue("default");
  await eventually(() => got.length === 2);
  assertEquals(got.map(({ subject }) => subject).toSorted(), ["order:1", "order:2"]);
});

Deno.test("a subscription with `debounce` is handed the event that was fanned out last", async () => {
  await using bus = await Bus.open();
  const debounce = { by: ["data.order"], quietMs: 200, atMostMs: 10_000 };
  const { subscription, got } = keeping("index", { debounce });
  const runtime = await bus.started([subscription]);
  await runtime.pauseQueue("default");
  await runtime.recorder.recordMany([placed(1, { n: 1 }), placed(1, { n: 2 })]);
  const last = await runtime.recorder.record(placed(1, { n: 3 }));
  await runtime.events.awaitFanout(last, 10_000);
  await runtime.resumeQueue("default");
  await eventually(() => got.length === 1);
  assertEquals(got[0]!.data, { order: 1, n: 3 });
});
