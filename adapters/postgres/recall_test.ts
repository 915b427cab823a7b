import { assertEquals } from "@std/assert";
import { back, newJob, withStore } from "./fixture_test.ts";

Deno.test("a recall takes at most 1,000 jobs", () =>
  withStore(async ({ store, owner, claim }) => {
    await store.insert(Array.from({ length: 1500 }, () => newJob({ kind: "newer" })));
    await store.settle(owner, (await claim(1500)).map((job) => back(job, "put aside", 60_000)));
    await store.recall(["newer"]);
    assertEquals((await store.counts()).undeclared, 500);
    await store.recall(["newer"]);
    assertEquals((await store.counts()).undeclared, 0);
  }));
