import { assertEquals, assertLessOrEqual, assertMatch, assertRejects } from "@std/assert";
import { DatabaseUnavailableError } from "../../../ports/errors.ts";
import type { LogFields } from "../../../ports/log.ts";
import { databaseUrl, gate, withStore } from "../fixture_test.ts";
import { PostgresDatabase } from "./database.ts";

/** A role of the server that may have so many connections. */
async function withRole(
  limit: number,
  body: (url: string, admin: PostgresDatabase) => Promise<void>,
): Promise<void> {
  const admin = PostgresDatabase.connect({ url: databaseUrl(), poolSize: 2, listen: "off" });
  const name = `limited_${crypto.randomUUID().slice(0, 8)}`;
  const url = new URL(databaseUrl());
  url.username = name;
  url.password = crypto.randomUUID();
  await admin.query(`create role ${name} login password '${url.password}' connection limit ${limit}`);
  try {
    await body(url.href, admin);
  } finally {
    await admin.query(`drop owned by ${name} cascade`);
    await admin.query(`drop role ${name}`);
    await admin.close();
  }
}

Deno.test("where the role may have fewer connections than the pool, callers wait for those that there are", () =>
  withRole(2, async (url, admin) => {
    const database = PostgresDatabase.connect({ url, poolSize: 6, listen: "off" });
    try {
      // In transactions too: they begin anew with another connection.
      const work = Array.from(
        { length: 40 },
        (_, n) =>
          n % 2 === 0
            ? database.query("select pg_sleep(0.01)")
            : database.transaction(async (tx) => await tx.unsafe("select pg_sleep(0.01)", [])),
      );
      await Promise.all([database.query("select 1").then(() => Promise.all(work)), ...work]);
      const [row] = await admin.query(
        "select count(*)::int as sessions from pg_stat_activity where usename = $1::text",
        [new URL(url).username],
      );
      assertLessOrEqual(Number(row!.sessions), 2);
    } finally {
      await database.close();
    }
  }));

Deno.test("where none is left and there is none to wait for, the error names the limit that bites", () =>
  withRole(1, async (url) => {
    const [held, letGo] = [gate(), gate()];
    const first = PostgresDatabase.connect({ url, poolSize: 1, listen: "off" });
    const second = PostgresDatabase.connect({ url, poolSize: 1, listen: "off" });
    try {
      const holding = first.transaction(async (tx) => {
        await tx.unsafe("select 1", []);
        held.open();
        await letGo.opened;
      });
      await held.opened;
      const error = await assertRejects(() => second.query("select 1"), DatabaseUnavailableError);
      assertMatch(error.message, /53300.*raise the role's limit/);
      letGo.open();
      await holding;
    } finally {
      await first.close();
      await second.close();
    }
  }));

Deno.test("a start says which limit is below what the program may open", () =>
  withRole(5, async (url, admin) => {
    const warnings: [event: string, fields: LogFields][] = [];
    const ignore = () => {};
    const log = {
      debug: ignore,
      info: ignore,
      error: ignore,
      warn: (event: string, fields: LogFields = {}) => void warnings.push([event, fields]),
    };
    const { username } = new URL(url);
    const [{ name }] = await admin.query("select current_database() as name") as [{ name: string }];
    await admin.query(`grant create on database "${name}" to ${username}`);
    await withStore(async ({ store }) => {
      await store.open();
      const limits = warnings.filter(([event]) => event.includes("fewer connections"));
      assertEquals(limits.map(([, { of, limit, connections }]) => [of, limit, connections]), [[
        "role",
        5,
        9,
      ]]);
    }, { url, log });
  }));
