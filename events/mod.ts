/**
 * Events: facts that are recorded in the same transaction as the change that they tell of, and the relay that makes one
 * job of each for every subscriber. The outbox is kept through the `Database` port, the jobs through `Jobs`.
 *
 * @module
 */
export { captureChanges, type CaptureOptions, type CaptureSql } from "./capture_changes.ts";
export { deliverTwice, type DeliverTwiceOptions } from "./deliver_twice.ts";
export { MemoryRecorder, type MemoryRecorderOptions } from "./memory_recorder.ts";
export { OUTBOX } from "./_schema.ts";
export { Outbox, type OutboxOptions, RETENTION_PERIODIC, takesPart } from "./outbox.ts";
export { DEFAULT_EVENT_SETTINGS, type EventSettings, resolveEventSettings } from "./settings.ts";
