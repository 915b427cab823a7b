import type { Database, MigrationStep } from "./database.ts";
import type { EventKeeper, EventType, Recorder, Subscription } from "./event.ts";
import type { Alert } from "./events.ts";
import type { Inspector } from "./inspector.ts";
import type { Jobs } from "./jobs.ts";
import type { Kind, Periodic, Queue } from "./kind.ts";
import type { JobContext } from "./handler.ts";
import type { Log } from "./log.ts";
import type { Service } from "./runtime.ts";
import type { Upkeep } from "./upkeep.ts";

/** The history of the tables that one part keeps in the schema of the jobs. */
export interface PartMigrations {
  /** The part's name, under which its steps are recorded; unique. `jobs` and `outbox` are taken. */
  readonly part: string;
  /** Its steps, oldest first. A published one is never changed. */
  readonly steps: readonly MigrationStep[];
}

/** What one domain contributes. Every member is optional. */
export interface Registrar {
  /** Kinds of job. */
  readonly kinds?: readonly Kind[];
  /** Work at fixed times. */
  readonly periodics?: readonly Periodic[];
  /** The facts that it tells. No other registrar declares them. */
  readonly eventTypes?: readonly EventType[];
  /** The facts that it wants to be told, its own or others'. */
  readonly subscriptions?: readonly Subscription[];
  /** Asked before retention deletes old events that have been fanned out. */
  readonly keepEvents?: EventKeeper;
  /** What a person should look at of its own, asked with each `events.alerts()`. */
  readonly alerts?: () => Promise<readonly Alert[]>;
  /** What works beside the jobs in a process that is started, once the tables were checked. */
  readonly services?: readonly Service[];
  /** Tables of its own, made by `migrate()` after those of the jobs and the outbox, and checked by `start()`. */
  readonly migrations?: readonly PartMigrations[];
}

/**
 * The parts of the process that a registrar is made for, for handlers that are functions. They are handed over at
 * construction and work once the runtime is built: keep them, and use them in handlers.
 */
export interface Parts {
  /**
   * The database that the jobs are on: the way to tables of one's own. Throws at its use in a runtime in memory,
   * which has none.
   */
  readonly database: Database;
  /** The queue. */
  readonly jobs: Jobs;
  /** Looks at the jobs and mends them. */
  readonly inspector: Inspector;
  /** Every declared event type, by its name. */
  readonly eventTypes: () => ReadonlyMap<string, EventType>;
  /** The queue table, by the queues' names. */
  readonly queues: () => ReadonlyMap<string, Queue>;
  /** The outbox. */
  readonly recorder: Recorder;
  /** As of a handler's context, also outside of a job. It rejects where no host process can be started. */
  readonly call: JobContext["call"];
  /** The process's log. */
  readonly log: Log;
  /** Records how upkeep goes, for `overview()` and alerts. Tasks are declared at construction. */
  readonly upkeep: Upkeep;
}

/** What one domain contributes, or a function that makes it out of the parts of the process. */
export type RegistrarInput = Registrar | ((parts: Parts) => Registrar);
