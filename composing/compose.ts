import type { Composition, CompositionInput } from "../ports/composition.ts";
import { CompositionError } from "../ports/errors.ts";
import type { EventKeeper, EventType, Subscription } from "../ports/event.ts";
import type { Kind, Periodic, Queue } from "../ports/kind.ts";
import type { PartMigrations, Registrar } from "../ports/registrar.ts";
import type { Service } from "../ports/runtime.ts";
import type { Schedule } from "../ports/schedule.ts";
import { show } from "../ports/show.ts";
import { isRecord } from "../shared/options.ts";
import {
  enqueueFaults,
  kindFaults,
  label,
  migrationsFaults,
  queueFaults,
  registrarFaults,
  serviceFaults,
} from "./declaration_faults.ts";
import {
  eventTypeFaults,
  resolveExposure,
  subscriptionFaults,
  subscriptionKind,
  unmatchedGlobFaults,
} from "./event_faults.ts";
import { periodicFaults, periodicKindFaults } from "./periodic_faults.ts";
import { MAINTENANCE_QUEUE, periodicKind } from "./periodic_job.ts";

/** The parts whose tables are Millrace's own. */
const TAKEN_PARTS = ["jobs", "outbox"];

/**
 * Checks all declarations and puts them together.
 *
 * @throws {CompositionError} naming every fault at once.
 */
export function compose(input: CompositionInput, schedule: Schedule): Composition {
  if (!isRecord(input)) {
    throw new CompositionError([`${show(input)} was given, expected { registrars, queues? }`]);
  }
  const faults: string[] = [];
  const queues = composeQueues(listOf(input.queues, "queues", faults), faults);
  const kinds = new Map<string, Kind>();
  const periodics = new Map<string, Periodic>();
  const eventTypes = new Map<string, EventType>();
  const subscriptions = new Map<string, Subscription>();
  const eventKeepers: EventKeeper[] = [];
  const alerts: NonNullable<Registrar["alerts"]>[] = [];
  const services: Service[] = [];
  const migrations = new Map<string, PartMigrations>();
  for (const registrar of listOf(input.registrars, "registrars", faults) ?? []) {
    faults.push(...registrarFaults(registrar));
    for (const kind of listOf(registrar?.kinds, "kinds of a registrar", faults) ?? []) {
      faults.push(...kindFaults(kind, queues));
      if (!isRecord(kind)) continue;
      if (kinds.has(kind.name)) faults.push(`${label("kind", kind.name)} is declared twice`);
      kinds.set(kind.name, kind);
    }
    for (const periodic of listOf(registrar?.periodics, "periodics of a registrar", faults) ?? []) {
      faults.push(...periodicFaults(periodic, schedule, queues));
      if (!isRecord(periodic)) continue;
      if (periodics.has(periodic.name)) faults.push(`${label("periodic", periodic.name)} is declared twice`);
      periodics.set(periodic.name, periodic);
    }
    for (const declared of listOf(registrar?.eventTypes, "eventTypes of a registrar", faults) ?? []) {
      faults.push(...eventTypeFaults(declared));
      if (!isRecord(declared)) continue;
      if (eventTypes.has(declared.type)) {
        faults.push(`${label("event type", declared.type)} is declared twice, each type has one owner`);
      }
      eventTypes.set(declared.type, declared);
    }
    for (const declared of listOf(registrar?.subscriptions, "subscriptions of a registrar", faults) ?? []) {
      faults.push(...subscriptionFaults(declared, queues));
      if (!isRecord(declared)) continue;
      if (subscriptions.has(declared.name)) {
        faults.push(`${label("subscription", declared.name)} is declared twice`);
      }
      subscriptions.set(declared.name, declared);
    }
    for (const service of listOf(registrar?.services, "services of a registrar", faults) ?? []) {
      faults.push(...serviceFaults(service));
      services.push(service);
    }
    for (const declared of listOf(registrar?.migrations, "migrations of a registrar", faults) ?? []) {
      faults.push(...migrationsFaults(declared, new Set([...TAKEN_PARTS, ...migrations.keys()])));
      migrations.set(declared?.part, declared);
    }
    if (registrar?.keepEvents !== undefined) eventKeepers.push(registrar.keepEvents);
    if (registrar?.alerts !== undefined) alerts.push(registrar.alerts);
  }
  for (const periodic of periodics.values()) faults.push(...periodicKindFaults(periodic, kinds));
  for (const subscription of subscriptions.values()) {
    faults.push(...unmatchedGlobFaults(subscription, eventTypes));
    if (!kinds.has(subscription.name)) continue;
    faults.push(
      `${label("subscription", subscription.name)} has the name of a kind, expected one of its own`,
    );
  }
  const enqueued = new Set([...kinds.keys(), ...subscriptions.keys()]);
  for (const declared of [...kinds.values(), ...periodics.values(), ...subscriptions.values()]) {
    faults.push(...enqueueFaults(declared, enqueued));
  }
  if (faults.length > 0) throw new CompositionError(faults);
  for (const periodic of periodics.values()) {
    const kind = periodicKind(periodic);
    if (kind !== null) kinds.set(kind.name, kind);
  }
  for (const subscription of subscriptions.values()) {
    kinds.set(subscription.name, subscriptionKind(subscription));
    subscriptions.set(subscription.name, resolveExposure(subscription, eventTypes));
  }
  return { kinds, queues, periodics, eventTypes, subscriptions, eventKeepers, alerts, services, migrations };
}

/** Untyped callers can pass anything. */
function listOf<T>(
  value: readonly T[] | undefined,
  what: string,
  faults: string[],
): readonly T[] | undefined {
  if (value === undefined && what !== "registrars") return undefined;
  if (Array.isArray(value)) return value;
  faults.push(`${what}: ${value === null ? "null" : typeof value} was given, expected a list`);
  return undefined;
}

function composeQueues(table: readonly Queue[] | undefined, faults: string[]): Map<string, Queue> {
  const queues = new Map<string, Queue>([[MAINTENANCE_QUEUE, { name: MAINTENANCE_QUEUE, concurrency: 2 }]]);
  if (table === undefined) queues.set("default", { name: "default", concurrency: 5 });
  const seen = new Set<string>();
  for (const queue of table ?? []) {
    faults.push(...queueFaults(queue));
    if (!isRecord(queue)) continue;
    if (seen.has(queue.name)) faults.push(`${label("queue", queue.name)} is declared twice`);
    seen.add(queue.name);
    queues.set(queue.name, queue);
  }
  return queues;
}
