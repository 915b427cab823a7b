import { assertEquals } from "@std/assert";
import { withStore } from "./fixture_test.ts";
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
