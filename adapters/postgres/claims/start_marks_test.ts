import { assertEquals, assertRejects } from "@std/assert";
import { withStore } from "../fixture_test.ts";
import { StartMarks } from "./start_marks.ts";

Deno.test("a clean-up deletes every mark whose runs have ended, however many there are", () =>
  withStore(async ({ store, owner }) => {
    const count = 12_000;
    await store.database.query(
      `insert into {schema}.start_mark (owner, seq, job_ids, runs)
        select $1::text::uuid, n, array[n], array[1] from generate_series(1, $2::int) as n`,
      [owner, count],
    );
    const marks = new StartMarks(store.database);
    const runs = Array.from({ length: count }, (_, index) => ({ id: String(index + 1), run: 1 }));
    for (const run of runs) marks.noteStarted(owner, Number(run.id), [run]);
    marks.noteEnded(runs.slice(1));
    await marks.clean(owner);
    const left = await store.database.query("select seq from {schema}.start_mark");
    assertEquals(left.map(({ seq }) => seq), ["1"]);
  }));

Deno.test("a start that arrives when its process is off the record leaves no mark, and is refused", () =>
  withStore(async ({ store, owner }) => {
    const marks = new StartMarks(store.database);
    await marks.start(owner, [{ id: "1", run: 1 }]);
    await store.unregister(owner);
    await assertRejects(() => marks.start(owner, [{ id: "2", run: 1 }]), Error, "taken for dead");
    assertEquals((await store.database.query("select seq from {schema}.start_mark")).length, 0);
  }));

Deno.test("a process that has left waits for its own start that is under way, and leaves no mark", () =>
  withStore(async ({ store, owner }) => {
    const left = await store.database.transaction(async (tx) => {
      const late = new StartMarks({
        query: async (text, params = []) => await tx.unsafe(text, [...params]),
        transaction: (body) => body(tx),
      });
      await late.start(owner, [{ id: "1", run: 1 }]);
      return { leaving: store.unregister(owner) };
    });
    await left.leaving;
    assertEquals((await store.database.query("select seq from {schema}.start_mark")).length, 0);
  }));
