import { sql } from "drizzle-orm";
import { drizzle as drizzlePg } from "drizzle-orm/node-postgres";
import { drizzle as drizzlePostgres } from "drizzle-orm/postgres-js";
import { CamelCasePlugin, Kysely, PostgresDialect } from "kysely";
import pg from "pg";
import postgres from "postgres";
import { DataSource } from "typeorm";
import type { Tx } from "../../ports/tx.ts";
import {
  type DrizzleTransaction,
  drizzleTx,
  kyselyTx,
  pgTx,
  prismaTx,
  typeOrmTx,
} from "../../transactions/mod.ts";
import { connectPrisma } from "./prisma_client.ts";

/** One library as a user has it: begins transactions, and has something beside them that is easily mistaken for one. */
export interface Maker {
  /** The library. */
  readonly name: string;
  /** Runs a function in a transaction: commits when it resolves, rolls back when it throws. */
  transaction(body: (tx: Tx) => Promise<void>): Promise<void>;
  /** The open transaction as the library hands it over, for whoever forgets its helper. */
  bare(body: (tx: unknown) => void): Promise<void>;
  /** Whether it tells that a transaction has ended. */
  readonly tellsEnd: boolean;
  /** Hands over what is no open transaction. */
  readonly mistakes: Readonly<Record<string, () => Tx>>;
  /** Ends its connections. */
  end(): Promise<void>;
}

/** All of them, on one database. */
export const MAKERS: Readonly<Record<string, (url: string) => Maker>> = {
  pg(url) {
    const pool = new pg.Pool({ connectionString: url, max: 2 });
    const idle = new pg.Client({ connectionString: url });
    return {
      name: "pg",
      async transaction(body) {
        const client = await pool.connect();
        try {
          await client.query("begin");
          await body(pgTx(client));
          await client.query("commit");
        } catch (error) {
          await client.query("rollback");
          throw error;
        } finally {
          client.release();
        }
      },
      async bare(body) {
        const client = await pool.connect();
        try {
          body(client);
        } finally {
          client.release();
        }
      },
      tellsEnd: true,
      mistakes: {
        "a pool": () => pgTx(pool),
        "a client without begin": () => pgTx(idle),
        "nothing": () => pgTx(undefined as never),
      },
      end: async () => {
        await idle.end().catch(() => {});
        await pool.end();
      },
    };
  },
  drizzleOnPg(url) {
    const pool = new pg.Pool({ connectionString: url, max: 2 });
    const db = drizzlePg(pool);
    return {
      name: "Drizzle on pg",
      transaction: (body) => db.transaction((tx) => body(drizzleTx(tx, sql))),
      bare: (body) => db.transaction((tx) => Promise.resolve(body(tx))),
      tellsEnd: true,
      mistakes: {
        "the database": () => drizzleTx(db, sql),
        "no sql": () =>
          drizzleTx({ execute: db.execute, rollback() {} } as DrizzleTransaction, undefined as never),
      },
      end: () => pool.end(),
    };
  },
  drizzleOnPostgres(url) {
    const client = postgres(url, { max: 2, onnotice: () => {} });
    const db = drizzlePostgres(client);
    return {
      name: "Drizzle on postgres.js",
      transaction: (body) => db.transaction((tx) => body(drizzleTx(tx, sql))),
      bare: (body) => db.transaction((tx) => Promise.resolve(body(tx))),
      tellsEnd: false,
      mistakes: { "the database": () => drizzleTx(db, sql) },
      end: () => client.end(),
    };
  },
  kysely(url) {
    const pool = new pg.Pool({ connectionString: url, max: 2 });
    const db = new Kysely<Record<never, never>>({
      dialect: new PostgresDialect({ pool }),
      plugins: [new CamelCasePlugin()],
    });
    return {
      name: "Kysely",
      transaction: (body) => db.transaction().execute((trx) => body(kyselyTx(trx))),
      bare: (body) => db.transaction().execute((trx) => Promise.resolve(body(trx))),
      tellsEnd: true,
      mistakes: { "the database": () => kyselyTx(db), "nothing": () => kyselyTx({} as never) },
      end: () => db.destroy(),
    };
  },
  prisma(url) {
    const prisma = connectPrisma(url);
    return {
      name: "Prisma",
      transaction: (body) => prisma.$transaction((tx) => body(prismaTx(tx))),
      bare: (body) => prisma.$transaction((tx) => Promise.resolve(body(tx))),
      tellsEnd: true,
      mistakes: { "the client": () => prismaTx(prisma), "nothing": () => prismaTx({} as never) },
      end: () => prisma.$disconnect(),
    };
  },
  typeOrm(url) {
    const source = new DataSource({ type: "postgres", url });
    const ready = source.initialize();
    return {
      name: "TypeORM",
      async transaction(body) {
        await ready;
        await source.transaction((manager) => body(typeOrmTx(manager)));
      },
      async bare(body) {
        await ready;
        await source.transaction((manager) => Promise.resolve(body(manager)));
      },
      tellsEnd: true,
      mistakes: {
        "the data source's manager": () => typeOrmTx(source.manager),
        "an idle query runner": () => typeOrmTx(source.createQueryRunner()),
      },
      end: async () => {
        await ready;
        await source.destroy();
      },
    };
  },
};
