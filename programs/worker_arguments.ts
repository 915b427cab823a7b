import type { ArgumentsShape } from "./arguments.ts";

/** What the command line of the worker program, and so of its supervisor, may hold. */
export const WORKER_ARGUMENTS: ArgumentsShape = {
  values: ["queues", "threads", "hosts", "schema", "config"],
  flags: ["pooler", "embedded", "migrate", "no-migrate"],
  words: 1,
};
