import { assert } from "@std/assert";
import postgres from "postgres";
import { createRuntime, type PostgresRuntime } from "../../mod.ts";
import { testDatabaseUrl, uniqueSchema } from "../support/test_database.ts";
import shop from "./apps/shop.ts";
import { Program } from "./program.ts";

export const SHOP = "tests/programs/apps/shop.ts";

/** A schema of one's own, and a runtime that enqueues and waits in it, which works nothing itself. */
export class Stage implements AsyncDisposable {
  private constructor(readonly url: string, readonly schema: string, readonly runtime: PostgresRuntime) {}

  static async open(): Promise<Stage> {
    const url = await testDatabaseUrl();
    const schema = uniqueSchema();
    const runtime = createRuntime({ ...shop, url, schema });
    await runtime.migrate();
    return new Stage(url, schema, runtime);
  }

  worker(args: readonly string[] = [], env: Record<string, string> = {}): Program {
    return new Program("supervisor", [...args, "--schema", this.schema, SHOP], {
      env: { DATABASE_URL: this.url, ...env },
    });
  }

  async add(a: number, b: number): Promise<unknown> {
    const result = await this.runtime.wait(await this.runtime.enqueue("shop.add", { a, b }), 20_000);
    return result.done ? result.output : result;
  }

  async untilRunning(id: string): Promise<void> {
    const deadline = Date.now() + 20_000;
    while ((await this.runtime.get(id))?.state !== "running") {
      assert(Date.now() < deadline, `job ${id} does not run`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.runtime.stop();
    const sql = postgres(this.url, { max: 1, onnotice: () => {} });
    await sql`drop schema ${sql(this.schema)} cascade`;
    await sql.end();
  }
}

/** The worker that the supervisor started as the n-th. */
export async function workerPid(program: Program, nth = 1): Promise<number> {
  return (await program.event("worker starting", nth)).pid as number;
}
