import { assert, assertEquals } from "@std/assert";
import type { Signal } from "../../../ports/store.ts";
import { packSignals, readySignal, unpackSignals } from "./signals.ts";

Deno.test("signals come back as they were sent", () => {
  const signals: Signal[] = [
    { type: "ready", queue: 'a "b" ü' },
    { type: "aside", queue: "q", kind: 'k "ü"' },
    { type: "cancel", id: "1" },
    { type: "wait", id: "2" },
    { type: "final", id: "3" },
  ];
  assertEquals(packSignals(signals).flatMap(unpackSignals), signals);
  assertEquals(unpackSignals(readySignal("q")), [{ type: "ready", queue: "q" }]);
});

Deno.test("every payload stays below 8,000 bytes", () => {
  const signals: Signal[] = Array.from(
    { length: 200 },
    (_, n) => ({ type: "ready", queue: `${n}${"€".repeat(125)}` }),
  );
  const payloads = packSignals(signals);
  for (const payload of payloads) assert(new TextEncoder().encode(payload).length < 8000);
  assertEquals(payloads.flatMap(unpackSignals), signals);
});

Deno.test("payloads that are not understood are left out", () => {
  for (
    const payload of ["", "{", "1", '[["x","1"]]', '[["r",1]]', '[["a","q"]]', '[["a","q",1]]', "[null]"]
  ) {
    assertEquals(unpackSignals(payload), []);
  }
});
