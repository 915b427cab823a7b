import type { EventSettings, EventType } from "../../../mod.ts";

/** A tenth of the defaults, or less. */
export const EVENT_SETTINGS: Partial<EventSettings> = {
  sweepMs: 6000,
  pollMs: 100,
  backoffMs: 20,
  backoffMaxMs: 200,
};

/** The types of the tests. */
export const TYPES: readonly EventType[] = ["order.placed", "order.paid", "order.item.added", "mail.sent"]
  .map((type) => ({
    type,
    description: `It is ${type}`,
    subject: "its id",
  }));
