import type { Composition } from "../ports/composition.ts";
import type { EventDraft, EventId, RecordedEvent } from "../ports/event.ts";
import type { JobId } from "../ports/job.ts";
import type { Jobs } from "../ports/jobs.ts";
import type { Runtime } from "../ports/runtime.ts";
import { newEvents } from "./_drafts.ts";
import { planFanout } from "./_fanout.ts";
import { Subscribers } from "./_subscribers.ts";
import { recordedNow } from "./memory_recorder.ts";

/** How events are delivered twice. */
export interface DeliverTwiceOptions {
  /** How long all jobs together may take, in ms. Default 10,000. */
  readonly maxMs?: number;
}

/**
 * For tests: hands every event to each of its subscribers twice, under the same `event_id`, and waits for both. Then
 * assert that there was one effect: that is what "at least once" asks of a handler. The runtime, on PostgreSQL or in memory,
 * must be started; nothing is written to the outbox. Resolves to the events as they were delivered.
 *
 * @throws {Error} a job was given up, or did not end in time; the message names its subscription and the reason.
 *
 * @example
 * ```ts
 * await using runtime = createMemoryRuntime({ registrars: [orders] });
 * await runtime.start();
 * await deliverTwice(runtime, [{ type: "order.placed", subject: "order:1" }]);
 * assertEquals(mailsSent, 1);
 * ```
 */
export async function deliverTwice(
  runtime: Pick<Runtime, "wait"> & Jobs & { readonly composition: Composition },
  drafts: readonly EventDraft[],
  options: DeliverTwiceOptions = {},
): Promise<RecordedEvent[]> {
  const { eventTypes, subscriptions } = runtime.composition;
  const events = newEvents(eventTypes, drafts).map(recordedNow);
  // Each by itself, or whoever coalesces would be given one of them only.
  const subscribers = new Subscribers(subscriptions.values());
  const deadline = performance.now() + (options.maxMs ?? 10_000);
  for (const event of events) {
    const { requests } = planFanout([event], subscribers);
    for (const { kind, args, ...enqueueOptions } of requests) {
      // One after the other: what a second delivery must find is the effect of the first.
      for (let time = 1; time <= 2; time++) {
        const id = await runtime.enqueue(kind, args, enqueueOptions);
        await ended(runtime, { id, subscription: kind, eventId: event.event_id, time, deadline });
      }
    }
  }
  return events;
}

interface Delivery {
  readonly id: JobId;
  readonly subscription: string;
  readonly eventId: EventId;
  readonly time: number;
  readonly deadline: number;
}

async function ended(runtime: Pick<Runtime, "wait">, delivery: Delivery): Promise<void> {
  const result = await runtime.wait(delivery.id, Math.max(0, delivery.deadline - performance.now()));
  if (result.done && result.state === "completed") return;
  const what = `Event ${delivery.eventId}, delivered to ${delivery.subscription} for time ${delivery.time}`;
  throw new Error(
    result.done ? `${what}, ended ${result.state}: ${result.error}` : `${what}, did not end in time`,
  );
}
