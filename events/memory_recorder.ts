import type { Composition } from "../ports/composition.ts";
import type { EventDraft, EventId, RecordedEvent, Recorder } from "../ports/event.ts";
import type { Jobs } from "../ports/jobs.ts";
import type { Json } from "../ports/json.ts";
import { checkTx, type Tx } from "../ports/tx.ts";
import { type NewEvent, newEvent, newEvents } from "./_drafts.ts";
import { planFanout } from "./_fanout.ts";
import { Subscribers } from "./_subscribers.ts";

/** What a {@linkcode MemoryRecorder} is made of. */
export interface MemoryRecorderOptions {
  /** The queue. */
  readonly jobs: Jobs;
  /** The event types and subscriptions. */
  readonly composition: Composition;
}

/**
 * The `Recorder` port without an outbox, for unit tests: the subscribers' jobs are enqueued at once, in the transaction
 * that records. What is recorded by one call is one batch for whoever coalesces.
 */
export class MemoryRecorder implements Recorder {
  readonly #options: MemoryRecorderOptions;
  readonly #jobs: Jobs;
  readonly #subscribers: Subscribers;

  /** Records into the queue. */
  constructor(options: MemoryRecorderOptions, tx?: Tx) {
    if (tx !== undefined) checkTx(tx, "record");
    this.#options = options;
    this.#jobs = tx === undefined ? options.jobs : options.jobs.with(tx);
    this.#subscribers = new Subscribers(options.composition.subscriptions.values());
  }

  /** A copy that works inside a transaction of the store. */
  with(tx: Tx): Recorder {
    return new MemoryRecorder(this.#options, tx);
  }

  /** Records one event. */
  async record(draft: EventDraft): Promise<EventId> {
    const [id] = await this.#fanOut([newEvent(this.#options.composition.eventTypes, draft)]);
    return id!;
  }

  /** Records many, all or none. */
  async recordMany(drafts: readonly EventDraft[]): Promise<EventId[]> {
    return await this.#fanOut(newEvents(this.#options.composition.eventTypes, drafts));
  }

  async #fanOut(drafts: readonly NewEvent[]): Promise<EventId[]> {
    const events = drafts.map(recordedNow);
    const { requests } = planFanout(events, this.#subscribers);
    if (requests.length > 0) await this.#jobs.enqueueMany(requests);
    return events.map((event) => event.event_id);
  }
}

/** An event as its subscribers get it, of this moment. */
export function recordedNow({ type, subject, ownerId, data }: NewEvent): RecordedEvent {
  return {
    event_id: crypto.randomUUID(),
    type,
    subject,
    owner_id: ownerId,
    occurred_at: new Date().toISOString().replace("Z", "000Z"),
    data: JSON.parse(data) as Json,
  };
}
