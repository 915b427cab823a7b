import { assertEquals } from "@std/assert";
import type { Signal, Store } from "../ports/store.ts";
import { silentLog } from "../shared/log.ts";
import { Signaller } from "./_signaller.ts";

Deno.test("Signaller lets others send in its place, a few at once and never past what is pending", async () => {
  const sent: Signal[] = [];
  const store = {
    signal: (signals: readonly Signal[]) => {
      sent.push(...signals);
      return Promise.resolve();
    },
  } as unknown as Store;
  const signaller = new Signaller(store, silentLog, 60_000);
  assertEquals(Array.from({ length: 4 }, () => signaller.take()), [true, true, true, false]);
  signaller.send({ type: "ready", queue: "q" });
  assertEquals(sent, [], "it counts as sent, so the next waits");
  await signaller.flush();
  assertEquals(sent.length, 1);
  const eager = new Signaller(store, silentLog, 0);
  eager.send({ type: "ready", queue: "q" });
  assertEquals(eager.take(), false);
  await eager.flush();
  assertEquals(eager.take(), true);
});
