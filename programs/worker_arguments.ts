import type { ArgumentsShape } from "./arguments.ts";

/** The command line arguments that the worker program, and therefore its supervisor, accepts. */
export const WORKER_ARGUMENTS: ArgumentsShape = {
  values: ["queues", "threads", "hosts", "schema", "config"],
  flags: ["pooler", "embedded", "migrate", "no-migrate"],
  words: 1,
};
