import type { EventType } from "@millrace/millrace";

/** The args of one job of the demo. */
export interface FileJob {
  /** The row that the file has. */
  readonly id: number;
  /** Its path. */
  readonly path: string;
  /** Whether the first attempt is to fail, to show a retry. */
  readonly fault: boolean;
}

/** The kind's name. */
export const FILE_KIND = "file.describe";

/** What is recorded of each file that was described. */
export const FILE_DIGESTED: EventType = {
  type: "file.digested",
  description: "A file was described. Data: { path, sha256, bytes, lines }.",
  subject: "the id of the file's row",
  exposure: "webhook",
};

/** The queue. */
export const FILE_QUEUE = "files";

/** The environment variable by which the handler finds the database: a secret does not belong in args. */
export const DATABASE_VARIABLE = "MILLRACE_DEMO_DATABASE";
