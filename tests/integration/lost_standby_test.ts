import { assertEquals, assertRejects } from "@std/assert";
import { PostgresDatabase } from "../../adapters/postgres/connection/database.ts";
import { startEmbedded } from "../../embedded/mod.ts";
import { DatabaseUnavailableError } from "../../ports/errors.ts";

Deno.test("a commit that no synchronous standby has confirmed is told, not taken for a success", async () => {
  await using server = await startEmbedded({
    ephemeral: true,
    settings: { synchronous_standby_names: "ghost", synchronous_commit: "local" },
  });
  const options = { url: server.url, listen: "off", poolSize: 1 } as const;
  const local = PostgresDatabase.connect(options);
  const safe = PostgresDatabase.connect({
    ...options,
    statementTimeoutMs: 100,
    session: { synchronous_commit: "on" },
  });
  await local.query("create table t (n int)");
  const calls = [
    () => safe.query("insert into t values (1)"),
    () => safe.transaction(async (tx) => void await tx.unsafe("insert into t values (1)", [])),
  ];
  for (const call of calls) {
    await assertRejects(
      call,
      DatabaseUnavailableError,
      "committed on the server, but no synchronous standby",
    );
  }
  // A commit that has nothing to wait for is one.
  assertEquals(await safe.query("select count(*)::int as n from t"), await local.query("select 2 as n"));
  await Promise.all([local.close(), safe.close()]);
});
