import { assertEquals } from "@std/assert";
import type { HostDeath } from "./host_process.ts";
import { outcomeOfDeath } from "./outcome_of_death.ts";

const DEATH: HostDeath = { killed: null, wasReady: true, outOfMemory: false, message: "it died" };

function told(death: Partial<HostDeath>, single: boolean, alone = false): string {
  const outcome = outcomeOfDeath({ ...DEATH, ...death }, { single, alone, memory: undefined });
  if (outcome.type === "failed") return outcome.class;
  return outcome.type === "released" ? `released, alone ${outcome.alone}` : outcome.type;
}

Deno.test("outcomeOfDeath() charges only an attempt that was alone in its process", () => {
  assertEquals(told({}, true), "crash");
  assertEquals(told({}, false), "released, alone true");
  assertEquals(told({ outOfMemory: true }, true), "memory");
  assertEquals(told({ outOfMemory: true }, false), "released, alone true");
  assertEquals(told({ killed: "memory" }, true), "memory");
});

Deno.test("outcomeOfDeath() releases what was in a silent process, and charges for one that garbled its frames", () => {
  assertEquals(told({ killed: "silent" }, true), "released, alone true");
  assertEquals(told({ killed: "silent" }, false), "released, alone true");
  assertEquals(told({ killed: "silent", wasReady: false }, true), "crash");
  assertEquals(told({ killed: "garbled" }, true), "crash");
});

Deno.test("outcomeOfDeath() charges an attempt that was put alone and whose process fell silent again", () => {
  assertEquals(told({ killed: "silent" }, true, true), "crash");
});

Deno.test("outcomeOfDeath() lets the others of a recycled process go back as they were", () => {
  assertEquals(told({ killed: "recycle" }, false), "released, alone false");
});

Deno.test("outcomeOfDeath() fails an attempt whose process never came up", () => {
  assertEquals(told({ wasReady: false }, false), "crash");
});
