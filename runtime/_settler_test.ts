import { assert, assertEquals } from "@std/assert";
import {
  DatabaseUnavailableError,
  RefusedValueError,
  type Settled as StoredEnd,
  type Settlement,
  silentLog,
  type Store,
} from "../ports/mod.ts";
import { type Settled, Settler } from "./_settler.ts";

function completed(id: string, output: string | null = null): Settlement {
  return { id, run: 1, to: "completed", output, error: null };
}

function settling(
  settle: (batch: readonly Settlement[]) => StoredEnd[],
  onRecovered = () => {},
): { settler: Settler; batches: Settlement[][] } {
  const batches: Settlement[][] = [];
  const store = {
    settle: (_owner: string, batch: readonly Settlement[]) => {
      batches.push([...batch]);
      return new Promise((resolve) => resolve(settle(batch)));
    },
  } as unknown as Store;
  const settler = new Settler({ store, owner: () => "me", settleMs: 2, onRecovered, log: silentLog });
  return { settler, batches };
}

function all(batch: readonly Settlement[]): StoredEnd[] {
  return batch.map(() => "completed");
}

function end(settler: Settler, settlement: Settlement): Promise<Settled> {
  return new Promise((resolve) => settler.add(settlement, resolve));
}

Deno.test("Settler writes what ends within a few ms in one statement", async () => {
  const { settler, batches } = settling(all);
  const ends = await Promise.all(["1", "2", "3"].map((id) => end(settler, completed(id))));
  assertEquals(ends, ["completed", "completed", "completed"]);
  assertEquals(batches.length, 1);
});

Deno.test("Settler pauses between statements that end few, and not before one that ends many", async () => {
  const { settler, batches } = settling(all);
  await end(settler, completed("1"));
  const began = performance.now();
  await end(settler, completed("2"));
  const pausedMs = performance.now() - began;
  assert(pausedMs > 6, `${pausedMs} ms`);
  const many = Array.from({ length: 200 }, (_, index) => end(settler, completed(`many ${index}`)));
  await new Promise((resolve) => setTimeout(resolve, 0));
  assertEquals(batches.map(({ length }) => length), [1, 1, 200], "it is not sent at once");
  await Promise.all(many);
});

Deno.test("Settler sends again until the database has answered", async () => {
  let [calls, recoveries] = [0, 0];
  const { settler } = settling((batch) => {
    assertEquals(settler.failing, calls > 0 && calls < 3);
    if (++calls < 3) throw new DatabaseUnavailableError("gone");
    return all(batch);
  }, () => recoveries++);
  assertEquals(await end(settler, completed("1")), "completed");
  assertEquals([calls, settler.failing], [3, false]);
  assertEquals(await end(settler, completed("2")), "completed");
  assertEquals(recoveries, 1, "told of once, when ends are written again");
});

Deno.test("Settler tells who was fenced off", async () => {
  const { settler } = settling((batch) => batch.map(() => "fenced"));
  assertEquals(await end(settler, completed("1")), "fenced");
});

Deno.test("Settler comes back for a locked row, and the others do not wait for it", async () => {
  let held = true;
  const { settler } = settling((batch) => batch.map(({ id }) => id === "1" && held ? "locked" : "completed"));
  const locked = end(settler, completed("1"));
  assertEquals(await end(settler, completed("2")), "completed");
  assertEquals(settler.backlog, 1);
  held = false;
  assertEquals(await locked, "completed");
});

Deno.test("Settler discards the one job whose output the database refuses, and writes the others", async () => {
  const { settler, batches } = settling((batch) => {
    if (batch.some((each) => "output" in each && each.output === "bad")) {
      throw new RefusedValueError("22P05", "bad", {});
    }
    return all(batch);
  });
  await Promise.all([end(settler, completed("1")), end(settler, completed("2", "bad"))]);
  const last = batches.at(-1)![0]!;
  assertEquals([last.id, last.to, last.error?.class], ["2", "discarded", "error"]);
});

Deno.test("Settler gives up at the end of drain(), and says so", async () => {
  const { settler } = settling(() => {
    throw new DatabaseUnavailableError("gone");
  });
  settler.add(completed("1"), () => {});
  assertEquals(await settler.drain(50), false);
});

Deno.test("Settler drains at once when nothing is left", async () => {
  const { settler } = settling(all);
  settler.add(completed("1"), () => {});
  assertEquals(await settler.drain(5000), true);
});
