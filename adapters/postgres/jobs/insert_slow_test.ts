import { assertEquals, assertRejects } from "@std/assert";
import { RefusedValueError } from "../../../ports/errors.ts";
import { newJob, withStore } from "../fixture_test.ts";

Deno.test("20 jobs of 1 MiB at once take several statements, all or none, in order", () =>
  withStore(async ({ store }) => {
    const args = (index: number) => JSON.stringify([index, "x".repeat(1024 * 1024 - 16)]);
    const count = async () =>
      Number((await store.database.query("select count(*) as n from {schema}.job"))[0]!.n);
    const jobs = Array.from({ length: 20 }, (_, index) => newJob({ args: args(index) }));
    const inserted = await store.insert(jobs);
    assertEquals(inserted.map(({ id }) => Number(id)), jobs.map((_, index) => index + 1));
    await assertRejects(() => store.insert([...jobs, newJob({ args: "no JSON" })]), RefusedValueError);
    assertEquals(await count(), 20);
    const inTx = await store.database.transaction((tx) => store.insert(jobs, tx));
    assertEquals([inTx.length, await count()], [20, 40]);
    const unique = jobs.map((job) => ({ ...job, unique: true }));
    assertEquals(new Set((await store.insert(unique)).map(({ id }) => id)).size, 20);
    assertEquals((await store.insert(unique)).every(({ existed }) => existed), true);
  }));
