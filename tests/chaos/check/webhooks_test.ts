import type { Event } from "../journal.ts";
import type { DeliveryRow, EventRow, Evidence, GivenUpRow, JobRow } from "./evidence.ts";
import { BEGAN, job, prove, recordedEvent, type Sample } from "./samples.ts";

const event = (change: Partial<EventRow> = {}): EventRow => recordedEvent({ fanout: {}, ...change });

const delivery = (change: Partial<DeliveryRow> = {}): DeliveryRow => ({
  ...{ endpoint: "hook", event: "e", replay: "", seq: 1, state: "delivered" },
  ...{ reason: null, wasRedelivered: false },
  ...change,
});

const discarded = (reason: string | null, isAlert = false): GivenUpRow => ({
  ...{ endpoint: "hook", event: "e", job: "7", reason, isAlert },
  ...{ queuedAt: BEGAN, endedAt: reason === null ? null : BEGAN + 100 },
});

const received = (change: Partial<Event & { what: "received" }> = {}): Event => ({
  ...{ what: "received", event: "e", endpoint: "hook", signature: "right", answer: "200" },
  ...change,
});
const disabling: Event = { what: "disabling", endpoint: "hook" };
const enabled: Event = { what: "enabled", endpoint: "hook" };
const time: Event = { what: "fault", name: "time passes" };
const fanout = (change: Partial<JobRow> = {}): JobRow =>
  job({ kind: "webhook.fanout", event: "e", output: null, ...change });

/** An event that an endpoint has got. */
const sent: Partial<Evidence> = {
  events: [event()],
  exposed: ["fact.told"],
  endpoints: [{ name: "hook", ordered: true }],
  deliveries: [delivery()],
};

const SAMPLES: readonly Sample[] = [
  {
    name: "a webhook that came twice is well",
    events: [received({ answer: "500" }), received(), received()],
    jobs: [],
    more: sent,
    broken: [],
  },
  {
    name: "a webhook of an event that was never recorded",
    events: [received(), received({ event: "x" })],
    jobs: [],
    more: sent,
    broken: ["webhook of nothing"],
  },
  {
    name: "a webhook whose signature is wrong",
    events: [received({ signature: "wrong signature" })],
    jobs: [],
    more: sent,
    broken: ["signature"],
  },
  {
    name: "an event without a delivery",
    events: [],
    jobs: [],
    more: { ...sent, deliveries: [] },
    broken: ["delivery", "passed by"],
  },
  {
    name: "an event with two deliveries to one endpoint",
    events: [received()],
    jobs: [],
    more: { ...sent, deliveries: [delivery(), delivery({ seq: 2 })] },
    broken: ["delivery"],
  },
  {
    name: "a delivery that was given up",
    events: [received()],
    jobs: [],
    more: { ...sent, deliveries: [delivery({ state: "discarded" })] },
    broken: ["delivery"],
  },
  {
    name: "a delivery that no receiver has confirmed",
    events: [received({ answer: "503" })],
    jobs: [],
    more: sent,
    broken: ["delivery"],
  },
  {
    name: "a webhook that overtook another one at an ordered endpoint",
    events: [received({ event: "f" }), received()],
    jobs: [],
    more: {
      ...sent,
      events: [event(), event({ id: "f", seq: 2 })],
      deliveries: [delivery(), delivery({ event: "f", seq: 2 })],
    },
    broken: ["order"],
  },
  {
    name: "a webhook that overtook one whose event was committed before its own was recorded",
    events: [{ what: "recorded", event: "e" }, received({ event: "f" }), received()],
    jobs: [],
    more: {
      ...sent,
      events: [event({ seq: 2 }), event({ id: "f", seq: 1, occurredAt: BEGAN + 50 })],
      deliveries: [delivery({ seq: 2 }), delivery({ event: "f", seq: 1 })],
    },
    broken: ["order"],
  },
  {
    name: "a webhook that came before one whose event was committed later is well",
    events: [received({ event: "f" }), { what: "recorded", event: "e" }, received()],
    jobs: [],
    more: {
      ...sent,
      events: [event({ seq: 1 }), event({ id: "f", seq: 2, occurredAt: BEGAN + 50 })],
      deliveries: [delivery({ seq: 2 }), delivery({ event: "f", seq: 1 })],
    },
    broken: [],
  },
  {
    name: "a webhook that a person has sent out of its turn is well",
    events: [received({ event: "f" }), received()],
    jobs: [],
    more: {
      ...sent,
      events: [event(), event({ id: "f", seq: 2 })],
      deliveries: [delivery({ wasRedelivered: true }), delivery({ event: "f", seq: 2 })],
    },
    broken: [],
  },
  {
    name: "an event whose fan-out a person has cancelled, and that came by a replay, is well",
    events: [{ what: "cancelling", id: "1" }, received()],
    jobs: [fanout({ state: "cancelled", attempt: 0 })],
    more: { ...sent, deliveries: [delivery({ replay: "r" })] },
    broken: [],
  },
  {
    name: "an event whose fan-out nobody has cancelled, and that came by a replay alone",
    events: [received()],
    jobs: [fanout({ state: "cancelled", attempt: 0 })],
    more: { ...sent, deliveries: [delivery({ replay: "r" })] },
    broken: ["passed by"],
  },
  {
    name: "an event that passed by an endpoint that was disabled, and came by a replay, is well",
    events: [disabling, time, enabled, received()],
    jobs: [fanout()],
    more: { ...sent, deliveries: [delivery({ replay: "r" })] },
    broken: [],
  },
  {
    name: "an event that passed by an endpoint that was enabled again before",
    events: [disabling, enabled, received()],
    jobs: [fanout({ enqueuedAt: BEGAN + 500 })],
    more: { ...sent, deliveries: [delivery({ replay: "r" })] },
    broken: ["passed by"],
  },
  {
    name: "an event that passed by and was never replayed",
    events: [disabling, enabled],
    jobs: [fanout()],
    more: { ...sent, deliveries: [] },
    broken: ["delivery"],
  },
  {
    name: "a delivery and a replay of it that arrived once",
    events: [received()],
    jobs: [],
    more: { ...sent, deliveries: [delivery(), delivery({ seq: 2, replay: "r" })] },
    broken: ["delivery"],
  },
  {
    name: "a delivery that was given up because its endpoint was disabled is well",
    events: [disabling, time, enabled, received()],
    jobs: [],
    more: { ...sent, givenUp: [discarded("the endpoint is disabled: disabled by hand")] },
    broken: [],
  },
  {
    name: "a delivery that was given up though its endpoint was enabled",
    events: [received()],
    jobs: [],
    more: { ...sent, givenUp: [discarded("the endpoint is disabled: disabled by hand")] },
    broken: ["given up"],
  },
  {
    name: "deliveries whose job a person has cancelled are well",
    events: [{ what: "cancelling", id: "7" }, received()],
    jobs: [],
    more: { ...sent, givenUp: [discarded(null), discarded("its job was cancelled before it was delivered")] },
    broken: [],
  },
  {
    name: "a delivery that waits though its job has ended by itself",
    events: [received()],
    jobs: [],
    more: { ...sent, givenUp: [discarded(null)] },
    broken: ["given up"],
  },
  {
    name: "a delivery that was put back in line by half is well",
    events: [{ what: "redelivery broke off", endpoint: "hook" }, received()],
    jobs: [],
    more: { ...sent, givenUp: [discarded(null)] },
    broken: [],
  },
  {
    name: "a delivery that was given up for want of attempts",
    events: [received()],
    jobs: [],
    more: { ...sent, givenUp: [discarded("the receiver answered 404", true)] },
    broken: ["given up"],
  },
  {
    name: "a delivery that was given up without a person's doing and is no alert",
    events: [{ what: "cancelling", id: "7" }, received()],
    jobs: [],
    more: { ...sent, givenUp: [discarded("its job is gone before it was delivered")] },
    broken: ["alert"],
  },
  {
    name: "a delivery that a person has skipped is well, and one that nobody has skipped is not",
    events: [{ what: "skipping", endpoint: "hook", delivery: "1" }, received()],
    jobs: [],
    more: {
      ...sent,
      givenUp: [discarded("skipped by hand"), { ...discarded("skipped by hand"), endpoint: "other" }],
    },
    broken: ["given up"],
  },
  {
    name: "a delivery that a person has skipped and that is an alert",
    events: [{ what: "skipping", endpoint: "hook", delivery: "1" }, received()],
    jobs: [],
    more: { ...sent, givenUp: [discarded("skipped by hand", true)] },
    broken: ["alert"],
  },
  {
    name: "a replay that made fewer deliveries than it says",
    events: [],
    jobs: [],
    more: { replays: [{ job: "9", queued: 2, deliveries: 1 }] },
    broken: ["replay"],
  },
];

prove(SAMPLES);
