/**
 * The demo's handler. It runs in a worker thread of a host process that may read the demo's folder and reach the
 * database. It is user code: it brings its own driver.
 *
 * @module
 */
import postgres from "postgres";
import { createRuntime, discard, type JobContext, type Json, silentLog } from "@millrace/millrace";
import { describe } from "./digest.ts";
import { DATABASE_VARIABLE, FILE_DIGESTED, type FileJob } from "./file_job.ts";

const url = Deno.env.get(DATABASE_VARIABLE)!;
const sql = postgres(url, { max: 2, onnotice: () => {} });

/** Never started: it only records. */
const { recorder } = createRuntime({ url, registrars: [{ eventTypes: [FILE_DIGESTED] }], log: silentLog });

/** A thread loads this module once, so this names the thread. */
const thread: string = crypto.randomUUID().slice(0, 8);

/**
 * Writes a file's digest, size and line count to its row and records that it did, in one transaction with the completion
 * of the job.
 */
export default async function describeFile(args: Json, ctx: JobContext): Promise<void> {
  const { id, path, fault } = args as unknown as FileJob;
  if (fault && ctx.attempt === 1) throw new Error("The planted fault: this job fails once, then works");
  const facts = await describe(path, ctx.signal).catch((error) => {
    // Another attempt would find the same.
    if (error instanceof Deno.errors.PermissionDenied) throw discard("it can't be read by this user");
    if (error instanceof Deno.errors.NotFound) throw discard(whyNotFound(path));
    throw error;
  });
  await sql.begin(async (tx) => {
    await tx`
      update demo_file
      set sha256 = ${facts.sha256}, bytes = ${facts.bytes}, lines = ${facts.lines},
        attempts = ${ctx.attempt}, thread = ${thread}
      where id = ${id}`;
    await recorder.with(tx).record({
      type: FILE_DIGESTED.type,
      subject: String(id),
      data: { path, ...facts },
    });
    await ctx.completeIn(tx);
  });
}

/** Deno reads a name that is not UTF-8 with this character in it, and then does not find the file under that. */
function whyNotFound(path: string): string {
  return path.includes("\uFFFD") ? "its name is not UTF-8" : "it is gone";
}
