import type { Event } from "../journal.ts";
import type { EventRow, Evidence } from "./evidence.ts";
import { end, job, prove, recordedEvent, type Sample, start } from "./samples.ts";

/** An event that one subscriber has heard, by the job 1. */
const event = (change: Partial<EventRow> = {}): EventRow =>
  recordedEvent({ fanout: { log: "1" }, ...change });

const LOG = { name: "log", types: ["fact.told"], coalesces: false };
const INDEX = { ...LOG, coalesces: true };
const recorded: Event = { what: "recorded", event: "e" };
const heard: Event = { what: "heard", event: "e", subscriber: "log", tag: "alone 1" };
const well = [recorded, start("a", { kind: "log" }), heard, end("a")];
const logged = job({ kind: "log", event: "e" });
/** What was recorded and who heard, without endpoints. */
const told: Partial<Evidence> = { events: [event()], subscribers: [LOG] };

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
];

prove(SAMPLES);
