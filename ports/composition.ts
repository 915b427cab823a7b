import type { EventKeeper, EventType, Subscription } from "./event.ts";
import type { Kind, Periodic, Queue } from "./kind.ts";
import type { PartMigrations, Registrar } from "./registrar.ts";
import type { Service } from "./runtime.ts";

/** What an application is made of: what its domains contribute, and the central queue table. */
export interface CompositionInput {
  /** One per domain. */
  readonly registrars: readonly Registrar[];
  /** The queue table. `maintenance` (2) exists by itself; without a table there is `default` (5) too. */
  readonly queues?: readonly Queue[];
}

/** A composition whose declarations have been checked against each other. */
export interface Composition {
  /** Kinds by name, those of periodics with a handler and of subscriptions included. */
  readonly kinds: ReadonlyMap<string, Kind>;
  /** Queues by name. */
  readonly queues: ReadonlyMap<string, Queue>;
  /** Periodics by name. */
  readonly periodics: ReadonlyMap<string, Periodic>;
  /** Event types by their names. */
  readonly eventTypes: ReadonlyMap<string, EventType>;
  /** Subscriptions by name. */
  readonly subscriptions: ReadonlyMap<string, Subscription>;
  /** Whoever is asked before old events are deleted. */
  readonly eventKeepers: readonly EventKeeper[];
  /** Whoever is asked what a person should look at. */
  readonly alerts: readonly NonNullable<Registrar["alerts"]>[];
  /** What works beside the jobs. */
  readonly services: readonly Service[];
  /** The tables that registrars keep, by part. */
  readonly migrations: ReadonlyMap<string, PartMigrations>;
}
