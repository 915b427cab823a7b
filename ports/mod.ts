/**
 * The ports: what Millrace is, told in declarations. Upper layers see these and nothing else.
 *
 * The words, used the same everywhere: a **job** is one piece of durable work of a **kind**; it waits in a **queue**
 * until a process **claims** it, which begins a **run**; a run of a handler that is counted against the limit is an
 * **attempt**; a **registrar** is what one domain contributes, a **composition** all of them with the queue table. An
 * **event** is a fact of a declared type about a **subject**; it is **recorded** in the outbox, and the **relay** **fans**
 * it **out**: one job for each **subscription** whose globs match its type.
 *
 * @module
 */
export * from "./app.ts";
export * from "./args_schema.ts";
export * from "./backoff.ts";
export * from "./composition.ts";
export * from "./database.ts";
export * from "./error_text.ts";
export * from "./errors.ts";
export * from "./event.ts";
export * from "./event_glob.ts";
export * from "./events.ts";
export * from "./executor.ts";
export * from "./handler.ts";
export * from "./identifier.ts";
export * from "./inspector.ts";
export * from "./job.ts";
export * from "./jobs.ts";
export * from "./json.ts";
export * from "./instant.ts";
export * from "./json_text.ts";
export * from "./key_rule.ts";
export * from "./kind.ts";
export * from "./known_keys.ts";
export * from "./limits.ts";
export * from "./log.ts";
export * from "./periodic_job.ts";
export * from "./protocol.ts";
export * from "./registrar.ts";
export * from "./runtime.ts";
export * from "./schedule.ts";
export * from "./store.ts";
export * from "./text.ts";
export * from "./tx.ts";
export * from "./typed_jobs.ts";
export * from "./typed_kind.ts";
export * from "./upkeep.ts";
export * from "./waiting.ts";
