import { assert, assertEquals, assertLess, assertStringIncludes } from "@std/assert";
import {
  DatabaseUnavailableError,
  RefusedValueError,
  StatementTimeoutError,
  TransactionConflictError,
} from "../ports/errors.ts";
import type { LogFields } from "../ports/log.ts";
import type { Settled as StoredEnd, Settlement, Store } from "../ports/store.ts";
import { silentLog } from "../shared/log.ts";
import { type Settled, Settler, type SettlerOptions } from "./_settler.ts";
import { UpkeepRecords } from "./_upkeep.ts";

function completed(id: string, output: string | null = null): Settlement {
  return { id, run: 1, to: "completed", output, error: null };
}

function settling(
  settle: (batch: readonly Settlement[]) => StoredEnd[] | Promise<StoredEnd[]>,
  options: Partial<SettlerOptions> = {},
): { settler: Settler; batches: Settlement[][] } {
  const batches: Settlement[][] = [];
  const store = {
    settle: (batch: readonly Settlement[]) => {
      batches.push([...batch]);
      return new Promise((resolve) => resolve(settle(batch)));
    },
  } as unknown as Store;
  const upkeep = new UpkeepRecords(silentLog);
  const defaults = { store, onRecovered: () => {}, upkeep, log: silentLog };
  return { settler: new Settler({ ...defaults, ...options }), batches };
}

function refusal(sqlState: string): RefusedValueError {
  return new RefusedValueError(sqlState, `The database refused a value (SQLSTATE ${sqlState})`, {});
}

async function until(condition: () => boolean): Promise<void> {
  for (let tries = 0; !condition() && tries < 1000; tries++) await new Promise((go) => setTimeout(go, 5));
  assert(condition(), "it did not happen within 5 s");
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
  }, { onRecovered: () => recoveries++ });
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

Deno.test("Settler writes the words of an error in ASCII where the store can't hold them as they are", async () => {
  const { settler, batches } = settling((batch) => {
    if (batch.some(({ error }) => error?.message.includes("é"))) throw refusal("22P05");
    return all(batch);
  });
  const failed = { ...completed("2"), error: { class: "error", message: "caf\u00e9 \u{1f4a5}" } } as const;
  assertEquals(await Promise.all([end(settler, completed("1")), end(settler, failed)]), [
    "completed",
    "completed",
  ]);
  assertEquals(batches.at(-1)![0]!.error?.message, "caf? ?");
});

Deno.test("Settler lets an attempt fail whose output the store can't hold, and writes the others", async () => {
  const { settler, batches } = settling((batch) => {
    if (batch.some((each) => "output" in each && each.output === "bad")) throw refusal("22P05");
    return batch.map(({ to }) => to === "retry" ? "retryable" : "completed");
  });
  const bad = new Promise<Settled>((resolve) =>
    settler.add(completed("2", "bad"), resolve, {
      withoutOutput: (message) => ({
        id: "2",
        run: 1,
        to: "retry",
        delayMs: 5,
        error: { class: "error", message },
        alone: false,
      }),
    })
  );
  assertEquals(await Promise.all([end(settler, completed("1")), bad]), ["completed", "retryable"]);
  const retry = batches.flat().find(({ to }) => to === "retry")!;
  assertStringIncludes(retry.error!.message, "refused");
});

Deno.test("Settler sets a refused end aside, the others go on, and it is written when the cause is gone", async () => {
  let isRefused = true;
  const lines: LogFields[] = [];
  const { settler, batches } = settling((batch) => {
    if (isRefused && batch.some(({ id }) => id === "666")) throw refusal("23514");
    return all(batch);
  }, { asideMs: 10, log: { ...silentLog, error: (_event, fields) => void lines.push(fields!) } });
  const refused = end(settler, completed("666"));
  const others = Array.from({ length: 300 }, (_, index) => end(settler, completed(String(index))));
  await Promise.all(others);
  assertEquals([settler.backlog, settler.refused, settler.failing], [1, 1, false]);
  assertLess(batches.length, 25, "halves find it: not one statement for each");
  assertEquals(lines.map(({ jobId, sqlState }) => [jobId, sqlState]), [["666", "23514"]]);
  isRefused = false;
  assertEquals(await refused, "completed");
  await until(() => settler.refused === 0);
});

Deno.test("Settler tries what is refused less and less often, and says so a few times at most", async () => {
  let lines = 0;
  const { settler, batches } = settling(() => {
    throw refusal("P0001");
  }, { asideMs: 10, log: { ...silentLog, error: () => void lines++ } });
  for (let id = 0; id < 50; id++) settler.add(completed(String(id)), () => {});
  await until(() => settler.refused === 50);
  const after = batches.length;
  await new Promise((resolve) => setTimeout(resolve, 150));
  assertLess(batches.length - after, 50 * 5, "after 10, 20, 40 and 80 ms");
  assertLess(lines, 6);
  const began = performance.now();
  assertEquals(await settler.drain(5000), false);
  assertLess(
    performance.now() - began,
    4000,
    "each is tried once more, and nobody waits for the rest of the time",
  );
});

Deno.test("Settler says that nothing should begin when it holds 1,000 refused ends", async () => {
  let isRefused = true;
  let recoveries = 0;
  const { settler } = settling((batch) => {
    if (isRefused) throw refusal("42501");
    return all(batch);
  }, { asideMs: 20, onRecovered: () => recoveries++ });
  const ends = Array.from({ length: 1000 }, (_, id) => end(settler, completed(String(id))));
  await until(() => settler.failing);
  isRefused = false;
  await Promise.all(ends);
  await until(() => settler.refused === 0);
  assertEquals([settler.failing, recoveries], [false, 1]);
});

Deno.test("Settler counts a conflict that comes again and again as a refusal", async () => {
  const { settler } = settling((batch) => {
    if (batch.some(({ id }) => id === "2")) throw new TransactionConflictError("40001", {});
    return all(batch);
  });
  settler.add(completed("2"), () => {});
  assertEquals(await end(settler, completed("1")), "completed");
  assertEquals(await settler.drain(5000), false);
});

Deno.test("Settler tries the ends of a batch that took too long singly, and the next ones do not wait for them", async () => {
  const bound = Promise.withResolvers<void>();
  const lines: LogFields[] = [];
  let tooSlow = true;
  const { settler, batches } = settling(async (batch) => {
    if (tooSlow && batch.some(({ id }) => id === "666")) {
      if (batch.length === 1) await bound.promise;
      throw new StatementTimeoutError("statement", 60_000);
    }
    return all(batch);
  }, { asideMs: 10, log: { ...silentLog, error: (_event, fields) => void lines.push(fields!) } });
  const others = Array.from({ length: 50 }, (_, index) => end(settler, completed(String(index))));
  const slow = end(settler, completed("666"));
  await Promise.all(others);
  await until(() => batches.some(([first, ...rest]) => first!.id === "666" && rest.length === 0));
  assertEquals(await end(settler, completed("next")), "completed", "written while the slow one is tried");
  assertEquals(batches.filter((batch) => batch.length > 1).length, 1, "no half is tried");
  assertEquals(lines, [], "nobody is blamed for the batch of others");
  bound.resolve();
  await until(() => lines.length === 1);
  assertEquals(lines[0]!.jobId, "666");
  assertEquals([settler.refused, settler.failing], [1, false]);
  tooSlow = false;
  assertEquals(await slow, "completed");
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
