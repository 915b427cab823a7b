/** What the tests beside the adapter share: a store on a schema of its own, and jobs to put in it. */
import type { Claimed, NewJob, Settlement } from "../../ports/store.ts";
import { createPostgresStore, type PostgresStore, type PostgresStoreOptions } from "./postgres_store.ts";

/** The database of the tests. */
export function databaseUrl(): string {
  const url = Deno.env.get("DATABASE_URL");
  if (!url) {
    throw new Error("Cannot test the PostgreSQL adapter: set DATABASE_URL to a database that may be written");
  }
  return url;
}

/** A schema name that no other test has. */
export function freshSchema(): string {
  return `test_${crypto.randomUUID().slice(0, 13).replace("-", "_")}`;
}

/** A store on a schema of its own, with one process on the record. */
export interface StoreFixture {
  /** The store. */
  readonly store: PostgresStore;
  /** A registered process. */
  readonly owner: string;
  /** Claims from the queue `q`; all count as started. */
  claim(limit?: number): Promise<Claimed[]>;
  /** Settles runs as completed, or in another way. */
  finish(jobs: readonly Claimed[], to?: "completed" | "discarded" | "cancelled"): Promise<void>;
}

/** Runs a test with a store on a schema of its own, which is dropped after it. */
export async function withStore(
  body: (fixture: StoreFixture) => Promise<void>,
  options: Partial<PostgresStoreOptions> = {},
): Promise<void> {
  const store = createPostgresStore({ url: databaseUrl(), schema: freshSchema(), listen: "off", ...options });
  try {
    await store.migrate();
    const owner = crypto.randomUUID();
    await store.register({ id: owner, name: "test", queues: ["q"] });
    await body({
      store,
      owner,
      claim: (limit = 100) => store.claim({ owner, queue: "q", limit, free: limit }),
      finish: async (jobs, to = "completed") => {
        await store.settle(jobs.map(({ id, run }) => ({ id, run, to, output: null, error: null })));
      },
    });
  } finally {
    await store.database.query("drop schema if exists {schema} cascade");
    await store.close();
  }
}

/** A job of kind `k` in queue `q`. */
export function newJob(changes: Partial<NewJob> = {}): NewJob {
  return {
    kind: "k",
    queue: "q",
    args: "{}",
    priority: 2,
    maxAttempts: 3,
    runAt: null,
    unique: false,
    ...changes,
  };
}

/** The settlement that puts a run back in line. */
export function back(
  { id, run }: { readonly id: string; readonly run: number },
  to: "retry" | "snooze" | "release" | "put aside",
  delayMs = 0,
): Settlement {
  const error = to === "retry" ? { class: "error" as const, message: "failed" } : null;
  return { id, run, to, delayMs, error, alone: false };
}

/** A promise and the function that resolves it. */
export function gate(): { readonly opened: Promise<void>; readonly open: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { opened: promise, open: resolve };
}

/** Polls until a condition holds, for at most 10 s. */
export async function until(what: string, condition: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 10_000;
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error(`Did not happen within 10 s: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
