/**
 * The demo's handler. It runs in a worker thread of a host process that may read the demo's folder and reach the
 * database. It is user code: it brings its own driver.
 *
 * @module
 */
import postgres from "postgres";
import { discard, type JobContext, type Json } from "../../ports/mod.ts";
import { describe } from "./digest.ts";
import { DATABASE_VARIABLE, type FileJob } from "./file_job.ts";

const sql = postgres(Deno.env.get(DATABASE_VARIABLE)!, { max: 2, onnotice: () => {} });

/** A thread loads this module once, so this names the thread. */
const thread: string = crypto.randomUUID().slice(0, 8);

/** Writes a file's digest, size and line count to its row, in one transaction with the completion of the job. */
export default async function describeFile(args: Json, ctx: JobContext): Promise<void> {
  const { id, path, fault } = args as unknown as FileJob;
  if (fault && ctx.attempt === 1) throw new Error("The planted fault: this job fails once, then works");
  const facts = await describe(path, ctx.signal).catch((error) => {
    // Gone, or not ours to read: another attempt would find the same.
    if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.PermissionDenied) {
      throw discard(error.message);
    }
    throw error;
  });
  await sql.begin(async (tx) => {
    await tx`
      update demo_file
      set sha256 = ${facts.sha256}, bytes = ${facts.bytes}, lines = ${facts.lines},
        attempts = ${ctx.attempt}, thread = ${thread}
      where id = ${id}`;
    await ctx.completeIn(tx);
  });
}
