import postgres from "postgres";
import { createLog, createRuntime, type Kind, type PostgresRuntime } from "@millrace/millrace";
import { DATABASE_VARIABLE, FILE_DIGESTED, FILE_KIND, FILE_QUEUE, type FileJob } from "./file_job.ts";
import type { DemoResult } from "./summary.ts";
import { totals, TOTALS_KIND } from "./totals.ts";
import { WebhookSide } from "./webhook_side.ts";

/** How the demo runs. */
export interface DemoOptions {
  /** The database. */
  readonly url: string;
  /** The folder that the handlers may read. */
  readonly directory: string;
  /** The files to describe, below it. */
  readonly files: readonly string[];
  /** Threads in the host process. */
  readonly threads: number;
  /** Where webhooks go; null for a receiver of the demo's own, which verifies them. */
  readonly webhook: string | null;
  /** Told of the secret that verifies them, when they go elsewhere. */
  readonly onSecret: (secret: string) => void;
  /** Told of how many files are done. */
  readonly onProgress: (done: number) => void;
  /** Takes a line of the log: what a person should look at. */
  readonly onLog: (line: string) => void;
  /** Ends it early: what runs gets a moment, and the promise rejects with the signal's reason. */
  readonly signal: AbortSignal;
}

/** A demo that has done its work; its worker is still up. */
export interface Demo extends AsyncDisposable {
  /** What came of it. */
  readonly result: DemoResult;
  /** Path and digest of each file, for comparing. */
  readonly digests: readonly { readonly path: string; readonly sha256: string }[];
}

const ENQUEUERS = 8;
const JOBS_PER_THREAD = 4;
const LOOK_MS = 100;
const STOP_GRACE_MS = 1000;
const FAILED_SHOWN = 5;

/** Makes a row and a job for every file, each pair in one transaction, and waits until all jobs have ended. */
export async function runDemo(options: DemoOptions): Promise<Demo> {
  const { url, files, threads, signal } = options;
  Deno.env.set(DATABASE_VARIABLE, url);
  const sql = postgres(url, { max: ENQUEUERS, onnotice: () => {} });
  const side = new WebhookSide(options.webhook);
  const runtime = createRuntime({
    url,
    registrars: [
      { kinds: [fileKind(options)], eventTypes: [FILE_DIGESTED] },
      side.webhooks.registrar,
      totals,
    ],
    queues: [{ name: FILE_QUEUE, concurrency: threads * JOBS_PER_THREAD }, side.queue],
    executor: { threads, jobsPerThread: JOBS_PER_THREAD },
    log: createLog({ level: "error", write: options.onLog }),
  });
  const queue = files.map((path, index) => ({ path, fault: index === 0 }));
  let enqueued: Promise<unknown> = Promise.resolve();
  // The driver throws where nobody can catch it when a connection breaks that has a statement to send. So everything
  // that talks to the database ends before the database does.
  const dispose = async () => {
    queue.length = 0;
    await enqueued;
    await runtime.stop(STOP_GRACE_MS);
    await side[Symbol.asyncDispose]();
    await sql.end({ timeout: 1 });
  };
  try {
    await runtime.migrate();
    signal.throwIfAborted();
    await sql`
      create table demo_file (
        id int generated always as identity primary key,
        path text not null,
        sha256 text, bytes bigint, lines bigint, attempts int, thread text
      )`;
    await sql`create table demo_total (event_id uuid primary key, extension text not null, bytes bigint not null)`;
    const secret = await side.open();
    if (options.webhook !== null) options.onSecret(secret);
    await runtime.start();
    const began = performance.now();
    const enqueue = async (): Promise<void> => {
      for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
        const { path, fault } = next;
        await sql.begin(async (tx) => {
          const [row] = await tx<
            { id: number }[]
          >`insert into demo_file (path) values (${path}) returning id`;
          const args: FileJob = { id: row!.id, path, fault };
          await runtime.with(tx).enqueue(FILE_KIND, { ...args });
        });
      }
    };
    const enqueuers = Array.from({ length: ENQUEUERS }, enqueue);
    enqueued = Promise.allSettled(enqueuers);
    const all = Promise.all(enqueuers);
    let failures = 0;
    for (let done = 0; done < files.length;) {
      await Promise.race([all.then(() => pause(LOOK_MS)), pause(LOOK_MS)]);
      signal.throwIfAborted();
      const { states } = await runtime.overview(FILE_KIND);
      failures = states.discarded + states.cancelled;
      done = states.completed + failures;
      options.onProgress(done);
    }
    await all;
    const ms = performance.now() - began;
    // Every file that is described has told of it; its event's job comes a moment later.
    for (let told = 0; told < files.length - failures; await pause(LOOK_MS / 4)) {
      signal.throwIfAborted();
      const { states } = await runtime.overview(TOTALS_KIND);
      told = states.completed + states.discarded + states.cancelled;
    }
    const rows = await sql<
      Row[]
    >`select path, sha256, bytes, lines, attempts, thread from demo_file order by path`;
    const described = rows.filter((row) => row.sha256 !== null);
    const webhooks = await side.finish(runtime, described.length, signal);
    const threadsUsed = new Map<string, number>();
    for (const { thread } of described) threadsUsed.set(thread!, (threadsUsed.get(thread!) ?? 0) + 1);
    return {
      result: {
        files: rows.length,
        bytes: described.reduce((sum, row) => sum + Number(row.bytes), 0),
        lines: described.reduce((sum, row) => sum + Number(row.lines), 0),
        ms,
        attempts: rows.reduce((sum, row) => sum + (row.attempts ?? 1), 0),
        failures,
        failed: failures === 0 ? [] : await failedFiles(runtime),
        threads: threadsUsed,
        webhooks,
        extensions: await sql<{ extension: string; files: number }[]>`
          select extension, count(*)::int as files from demo_total group by 1 order by 2 desc, 1 limit 5`,
      },
      digests: described.map(({ path, sha256 }) => ({ path, sha256: sha256! })),
      [Symbol.asyncDispose]: dispose,
    };
  } catch (error) {
    await dispose();
    throw error;
  }
}

async function failedFiles(runtime: PostgresRuntime): Promise<DemoResult["failed"]> {
  const jobs = await runtime.list({ kind: FILE_KIND, state: "discarded", limit: FAILED_SHOWN });
  return await Promise.all(jobs.map(async ({ id }) => {
    const job = await runtime.get(id);
    const { path } = job?.args as unknown as FileJob;
    return { path, reason: job?.errors.at(-1)?.message ?? "for no reason that is on record" };
  }));
}

interface Row {
  readonly path: string;
  readonly sha256: string | null;
  readonly bytes: string | null;
  readonly lines: string | null;
  readonly attempts: number | null;
  readonly thread: string | null;
}

/** Permissions put a kind into a host process, which has these and what it needs to load its own code. */
function fileKind({ url, directory }: DemoOptions): Kind {
  return {
    name: FILE_KIND,
    queue: FILE_QUEUE,
    maxAttempts: 3,
    timeout: 60_000,
    backoff: () => 300,
    handler: new URL("./describe_file.ts", import.meta.url),
    permissions: { read: [directory], net: [new URL(url).host], env: [DATABASE_VARIABLE] },
  };
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
