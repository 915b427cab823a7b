import { assertEquals, assertMatch, assertRejects } from "@std/assert";
import { createRuntime } from "../../mod.ts";
import { DatabaseSetupError } from "../../ports/errors.ts";
import { TestRole } from "../support/test_role.ts";
import { runtimeOptions } from "./programs/composition.ts";
import { Site } from "./support/site.ts";

Deno.test("a role that row level security hides rows from is told at its start, its migration and its first use", async () => {
  await using site = await Site.open();
  await using role = await TestRole.make(site.sql, "hidden");
  const { schema } = site;
  await site.sql.unsafe(`
    grant usage on schema ${schema} to ${role.name};
    grant select, insert, update, delete on all tables in schema ${schema} to ${role.name};
    grant usage on all sequences in schema ${schema} to ${role.name};
    alter table ${schema}.job enable row level security;
    alter table ${schema}.migration enable row level security`);
  const open = () => createRuntime(runtimeOptions({ url: role.url, schema }));
  const calls: ((runtime: ReturnType<typeof open>) => Promise<unknown>)[] = [
    (runtime) => runtime.start(),
    (runtime) => runtime.migrate(),
    (runtime) => runtime.enqueue("plain"),
    (runtime) => runtime.enqueue("plain", null, { uniqueByArgs: true }),
    (runtime) => runtime.cancel("1"),
  ];
  for (const call of calls) {
    await using runtime = open();
    const error = await assertRejects(() => call(runtime), DatabaseSetupError);
    assertEquals(error.sqlState, "42501");
    assertMatch(
      error.message,
      new RegExp(`row level security.*"${schema}".job, "${schema}".migration: .*BYPASSRLS`),
    );
  }
  // One that was refused works on as soon as it sees all rows, here by policies for it alone.
  await using runtime = open();
  await assertRejects(() => runtime.start(), DatabaseSetupError);
  await site.sql.unsafe(`
    create policy all_jobs on ${schema}.job to ${role.name} using (true) with check (true);
    create policy some_steps on ${schema}.migration for select to ${role.name} using (version > 1)`);
  const partly = await assertRejects(() => runtime.start(), DatabaseSetupError);
  assertMatch(partly.message, new RegExp(`from it: "${schema}".migration: `));
  await site.sql.unsafe(`
    create policy all_steps on ${schema}.migration to ${role.name} using (true);
    create policy no_job on ${schema}.job as restrictive for delete to ${role.name} using (false)`);
  const kept = await assertRejects(() => runtime.start(), DatabaseSetupError);
  assertMatch(kept.message, new RegExp(`from it: "${schema}".job: `));
  await site.sql.unsafe(`drop policy no_job on ${schema}.job`);
  await runtime.start();
  const result = await runtime.wait(await runtime.enqueue("plain", site.args()), 10_000);
  assertEquals(result.done && result.state, "completed");
});
