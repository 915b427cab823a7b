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

/** The migrations of the tables that one part keeps in the jobs' schema. */
export interface PartMigrations {
  /** The part's unique name, under which its steps are recorded. `jobs` and `outbox` are reserved. */
  readonly part: string;
  /** Its steps, oldest first. Never change a published step. */
  readonly steps: readonly MigrationStep[];
}

/** One domain's contribution to the composition. Every member is optional. */
export interface Registrar {
  /** Its kinds of jobs. */
  readonly kinds?: readonly Kind[];
  /** Its scheduled work. */
  readonly periodics?: readonly Periodic[];
  /** The event types that it publishes. No other registrar may declare them. */
  readonly eventTypes?: readonly EventType[];
  /** The events that it subscribes to, its own or others'. */
  readonly subscriptions?: readonly Subscription[];
  /** Called before retention deletes old events that have been fanned out. */
  readonly keepEvents?: EventKeeper;
  /** Its own alerts, added to every `events.alerts()`. */
  readonly alerts?: () => Promise<readonly Alert[]>;
  /** Services that work alongside the jobs in a started process. They start after the tables have been checked. */
  readonly services?: readonly Service[];
  /** Its own tables, created by `migrate()` after those of the jobs and the outbox, and checked by `start()`. */
  readonly migrations?: readonly PartMigrations[];
}

/**
 * The parts of the process that a registrar can use, in handlers that are functions. They are passed at construction
 * and work once the runtime is built: keep them, and use them in handlers.
 */
export interface Parts {
  /**
   * The jobs' database, for access to your own tables. With a runtime in memory, which has no database, it throws when
   * used.
   */
  readonly database: Database;
  /** The queue. */
  readonly jobs: Jobs;
  /** Inspects and repairs jobs. */
  readonly inspector: Inspector;
  /** Every declared event type, by name. */
  readonly eventTypes: () => ReadonlyMap<string, EventType>;
  /** The queue table, by queue name. */
  readonly queues: () => ReadonlyMap<string, Queue>;
  /** The outbox. */
  readonly recorder: Recorder;
  /** Like `call` in a handler's context, but also outside of a job. It rejects where no host process can be started. */
  readonly call: JobContext["call"];
  /** The process's log. */
  readonly log: Log;
  /** Records how upkeep is doing, for `overview()` and alerts. Declare tasks at construction. */
  readonly upkeep: Upkeep;
}

/** One domain's contribution, or a function that makes it from the parts of the process. */
export type RegistrarInput = Registrar | ((parts: Parts) => Registrar);
