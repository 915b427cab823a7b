import type { Event } from "../journal.ts";
import type { DeliveryRow, EventRow, Evidence } from "./evidence.ts";
import { end, job, prove, type Sample, start } from "./samples.ts";

/** An event that one subscriber has heard, by the job 1, and one endpoint got. */
function event(change: Partial<EventRow> = {}): EventRow {
  return {
    ...{ id: "e", seq: 1, type: "fact.told", subject: "s", tag: "alone 1", fanout: { log: "1" } },
    lastError: null,
    ...change,
  };
}

function delivery(change: Partial<DeliveryRow> = {}): DeliveryRow {
  return { endpoint: "hook", event: "e", seq: 1, state: "delivered", reason: null, ...change };
}

const received = (change: Partial<Event & { what: "received" }> = {}): Event => ({
  ...{ what: "received", event: "e", endpoint: "hook", signature: "right", answer: "200" },
  ...change,
});

const LOG = { name: "log", types: ["fact.told"], coalesces: false };
const INDEX = { ...LOG, coalesces: true };
const recorded: Event = { what: "recorded", event: "e" };
const heard: Event = { what: "heard", event: "e", subscriber: "log", tag: "alone 1" };
const well = [recorded, start("a", { kind: "log" }), heard, end("a")];
const logged = job({ kind: "log", event: "e" });
/** What was recorded and who heard, without endpoints. */
const told: Partial<Evidence> = { events: [event()], subscribers: [LOG] };
/** The same with one, and without subscribers. */
const sent: Partial<Evidence> = {
  events: [event({ fanout: {} })],
  exposed: ["fact.told"],
  endpoints: [{ name: "hook", ordered: true }],
  deliveries: [delivery()],
};

const SAMPLES: readonly Sample[] = [
  { name: "an event that was heard once is well", events: well, jobs: [logged], more: told, broken: [] },
  {
    name: "an acknowledged event that is not recorded",
    events: [recorded],
    jobs: [],
    broken: ["event lost"],
  },
  {
    name: "an event of a transaction that rolled back",
    events: [{ what: "not recorded", event: "e" }, ...well.slice(1)],
    jobs: [logged],
    more: told,
    broken: ["event rolled back"],
  },
  {
    name: "an event that was heard and never recorded",
    events: well.slice(1),
    jobs: [logged],
    more: { subscribers: [LOG] },
    broken: ["event of nothing", "event of nothing"],
  },
  {
    name: "a fact without its event",
    events: [],
    jobs: [],
    more: { facts: ["fact of 1"] },
    broken: ["fact without event"],
  },
  {
    name: "an event without its fact",
    events: well,
    jobs: [logged],
    more: { ...told, events: [event({ tag: "fact of 1" })] },
    broken: ["event without fact"],
  },
  {
    name: "an event that was never fanned out",
    events: [recorded],
    jobs: [],
    more: { ...told, events: [event({ fanout: null })] },
    broken: ["not fanned out"],
  },
  {
    name: "an event that a subscriber was not told of",
    events: [recorded],
    jobs: [],
    more: { ...told, events: [event({ fanout: {} })] },
    broken: ["fan-out"],
  },
  {
    name: "an event whose job is in no table",
    events: [recorded],
    jobs: [],
    more: told,
    broken: ["fan-out"],
  },
  {
    name: "an event that went to a subscriber twice",
    events: [...well, start("b", { id: "2", kind: "log" }), heard, end("b")],
    jobs: [logged, job({ id: "2", kind: "log", event: "e", output: "b" })],
    more: told,
    broken: ["fan-out"],
  },
  {
    name: "an event that went to someone who did not ask",
    events: well,
    jobs: [logged],
    more: { ...told, events: [event({ fanout: { log: "1", other: "1" } })] },
    broken: ["fan-out"],
  },
  {
    name: "an event that was joined with a later one of its subject is well",
    events: well,
    jobs: [logged],
    more: { subscribers: [INDEX], events: [event({ id: "d", seq: 0 }), event()] },
    broken: [],
  },
  {
    name: "an event that was joined with another subject's",
    events: well,
    jobs: [logged],
    more: { subscribers: [INDEX], events: [event({ id: "d", seq: 0, subject: "other" }), event()] },
    broken: ["fan-out"],
  },
  {
    name: "an event that was joined with an earlier one",
    events: well,
    jobs: [logged],
    more: { subscribers: [INDEX], events: [event(), event({ id: "f", seq: 2 })] },
    broken: ["fan-out"],
  },
  {
    name: "an event that was joined though its subscriber wants every one",
    events: well,
    jobs: [logged],
    more: { subscribers: [LOG], events: [event({ id: "d", seq: 0 }), event()] },
    broken: ["fan-out"],
  },
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
    broken: ["delivery"],
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
      events: [event({ fanout: {} }), event({ id: "f", seq: 2, fanout: {} })],
      deliveries: [delivery(), delivery({ event: "f", seq: 2 })],
    },
    broken: ["order"],
  },
];

prove(SAMPLES);
