import { assertEquals, assertRejects } from "@std/assert";
import { DatabaseUnavailableError } from "../../ports/errors.ts";
import { gathered } from "./gathered.ts";

Deno.test("gathered() makes one run of what is called together, at most 100", async () => {
  const sizes: number[] = [];
  const double = gathered((given: readonly number[]) => {
    sizes.push(given.length);
    return Promise.resolve(given.map((each) => each * 2));
  });
  const all = await Promise.all(Array.from({ length: 250 }, (_, index) => double(index)));
  assertEquals(all, Array.from({ length: 250 }, (_, index) => index * 2));
  assertEquals(sizes, [100, 100, 50]);
  assertEquals(await double(7), 14);
});

Deno.test("gathered() gathers while a run is under way, and a bad call fails by itself", async () => {
  const gate = Promise.withResolvers<void>();
  const runs: number[][] = [];
  const run = gathered(async (given: readonly number[]) => {
    runs.push([...given]);
    if (runs.length === 1) await gate.promise;
    if (given.includes(2)) throw new Error("two");
    return given;
  });
  const first = run(1);
  await new Promise((resolve) => setTimeout(resolve, 10));
  const [bad, good] = [assertRejects(() => run(2), Error, "two"), run(3)];
  gate.resolve();
  assertEquals(await first, 1);
  await bad;
  assertEquals(await good, 3);
  assertEquals(await run(4), 4);
  assertEquals(runs, [[1], [2, 3], [2], [3], [4]]);
});

Deno.test("gathered() does not try call by call what an outage has failed", async () => {
  let runs = 0;
  const run = gathered((_given: readonly number[]): Promise<number[]> => {
    runs++;
    return Promise.reject(new DatabaseUnavailableError("down"));
  });
  await Promise.all([1, 2, 3].map((each) => assertRejects(() => run(each), DatabaseUnavailableError)));
  assertEquals(runs, 1);
});
