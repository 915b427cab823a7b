import type { EventId, RecordedEvent } from "../ports/event.ts";
import type { JobId } from "../ports/job.ts";
import type { EnqueueRequest } from "../ports/jobs.ts";
import type { Subscribers } from "./_subscribers.ts";

/** What is to be enqueued for a batch of events. */
export interface FanoutPlan {
  /** The jobs. */
  readonly requests: readonly EnqueueRequest[];
  /** Which of them is whose: by event and subscription the index of the request. */
  readonly shares: readonly { readonly eventId: EventId; readonly requests: ReadonlyMap<string, number> }[];
}

/**
 * One job for each event and subscriber. A subscriber that coalesces gets one per owner and subject, for the latest of
 * these events; the events before it share that job.
 *
 * @param events in the order in which they were recorded.
 */
export function planFanout(events: readonly RecordedEvent[], subscribers: Subscribers): FanoutPlan {
  const requests: EnqueueRequest[] = [];
  const coalesced = new Map<string, number>();
  const shares = events.map((event) => {
    const indexes = new Map<string, number>();
    for (const { name, coalesce, data, priority } of subscribers.of(event.type)) {
      const args = data === false ? { ...event, data: null } : event;
      const request = { kind: name, args, ...(priority === undefined ? {} : { priority }) };
      const key = coalesce === true ? JSON.stringify([name, event.owner_id, event.subject]) : null;
      const index = (key === null ? undefined : coalesced.get(key)) ?? requests.length;
      requests[index] = request;
      if (key !== null) coalesced.set(key, index);
      indexes.set(name, index);
    }
    return { eventId: event.event_id, requests: indexes };
  });
  return { requests, shares };
}

/** Replaces the indexes of a share by the ids of the jobs that were enqueued. */
export function jobsOf(share: ReadonlyMap<string, number>, ids: readonly JobId[]): Record<string, JobId> {
  return Object.fromEntries([...share].map(([name, index]) => [name, ids[index]!]));
}
