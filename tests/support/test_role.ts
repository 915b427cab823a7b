import type postgres from "postgres";
import { connectPostgres } from "../integration/support/connect.ts";
import { testDatabaseUrl, uniqueSchema } from "./test_database.ts";

/** A role of the database that can log in, with a connection of its own. It goes with what it owns. */
export class TestRole implements AsyncDisposable {
  readonly #admin: postgres.Sql;

  private constructor(
    /** Its name, which needs no quotes. */
    readonly name: string,
    /** The database, as this role. */
    readonly url: string,
    /** A connection of its own. */
    readonly sql: postgres.Sql,
    admin: postgres.Sql,
  ) {
    this.#admin = admin;
  }

  /** Makes a role that may do nothing but log in. */
  static async make(admin: postgres.Sql, word: string): Promise<TestRole> {
    const name = `${word}_${uniqueSchema()}`;
    const url = new URL(await testDatabaseUrl());
    url.username = name;
    url.password = crypto.randomUUID();
    await admin.unsafe(`create role ${name} login password '${url.password}'`);
    return new TestRole(name, url.href, connectPostgres(url.href, 1), admin);
  }

  /** Ends its connection and drops it with all that it owns. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.sql.end({ timeout: 2 });
    await this.#admin.unsafe(`drop owned by ${this.name} cascade; drop role ${this.name}`);
  }
}
