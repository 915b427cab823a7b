import type { Line } from "../journal.ts";
import type { DeliveryRow, Evidence, Violation } from "./evidence.ts";
import type { History } from "./history.ts";

type Receipt = Line & { readonly what: "received" };

/** The journal's times are whole ms. */
const CLOCK_MS = 2;

/** So long an event may be on its way to an endpoint, in ms. */
const ENABLING_MS = 60_000;

/** The answers that say that it has arrived, one of them after the sender's patience. */
const WELL: ReadonlySet<string> = new Set(["200", "slow", "too slow", "unasked"]);

/** Each event arrives at each endpoint at least once, under one id and rightly signed, and nothing else arrives. */
export function webhooks(history: History): Violation[] {
  const { evidence } = history;
  const receipts = evidence.lines.filter((line): line is Receipt => line.what === "received");
  return [...arrived(history, receipts), ...delivered(history, receipts), ...inOrder(history, receipts)];
}

function arrived({ events }: History, receipts: readonly Receipt[]): Violation[] {
  return receipts.flatMap(({ event, endpoint, signature }): Violation[] => {
    if (!events.has(event)) {
      return [{ rule: "webhook of nothing", event, text: `${endpoint} was told, and it is not recorded` }];
    }
    if (signature !== "right") return [{ rule: "signature", event, text: `at ${endpoint}: ${signature}` }];
    return [];
  });
}

/** In the end each delivery was made, and each endpoint has got each event: from the fan-out or by a replay. */
function delivered({ evidence }: History, receipts: readonly Receipt[]): Violation[] {
  const told = Map.groupBy(
    receipts.filter(({ answer }) => WELL.has(answer)),
    ({ endpoint, event }) => `${endpoint} ${event}`,
  );
  const rows = Map.groupBy(evidence.deliveries, ({ endpoint, event }) => `${endpoint} ${event}`);
  return evidence.events.filter(({ type }) => evidence.exposed.includes(type)).flatMap(({ id }) =>
    evidence.endpoints.flatMap(({ name }): Violation[] => {
      const made = rows.get(`${name} ${id}`) ?? [];
      const times = told.get(`${name} ${id}`)?.length ?? 0;
      const say = (text: string) => [{ rule: "delivery", event: id, text: `to ${name}: ${text}` }];
      const fault = faultOf(made, times);
      return fault === null ? [] : say(fault);
    })
  );
}

function faultOf(made: readonly DeliveryRow[], times: number): string | null {
  if (made.length === 0) return "there is none";
  const ofFanout = made.filter(({ replay }) => replay === "").length;
  if (ofFanout > 1) return `there are ${ofFanout} of the fan-out`;
  const undone = made.find(({ state }) => state !== "delivered");
  if (undone !== undefined) return `it is ${undone.state}: ${undone.reason}`;
  if (times >= made.length) return null;
  return `${made.length} are on record as delivered, and ${times} receipts were answered well`;
}

/**
 * At an ordered endpoint a delivery first arrives after the one before it, however often either is repeated, and so does an
 * event after those that were committed before it was recorded.
 */
function inOrder(history: History, receipts: readonly Receipt[]): Violation[] {
  const { evidence, events } = history;
  const committedAt = new Map(
    evidence.lines.flatMap((line) => line.what === "recorded" ? [[line.event, line.at] as const] : []),
  );
  return evidence.endpoints.filter(({ ordered }) => ordered).flatMap(({ name }) => {
    const places = placesAt(name, evidence);
    const seen = new Set<string>();
    let [last, newestAt] = [0, 0];
    return receipts.filter(({ endpoint }) => endpoint === name).flatMap(({ event }): Violation[] => {
      const place = places.get(event);
      if (place === undefined || seen.has(event)) return [];
      seen.add(event);
      const before = last;
      last = Math.max(last, place);
      const say = (text: string) => [{ rule: "order", event, text: `at ${name} ${text}` }];
      if (place <= before) return say(`it came as number ${place} after number ${before}`);
      const beforeAt = newestAt;
      newestAt = Math.max(newestAt, events.get(event)?.occurredAt ?? 0);
      const at = committedAt.get(event) ?? Infinity;
      if (at > beforeAt - CLOCK_MS || wasDisabledAbout(history, name, at)) return [];
      return say(`it came after an event that was recorded ${Math.round(beforeAt - at)} ms after its commit`);
    });
  });
}

/** An endpoint that is enabled between the two halves of a fan-out gets the event from the second, which keeps no order. */
function wasDisabledAbout({ disabled }: History, name: string, at: number): boolean {
  return disabled.touch(name, at - ENABLING_MS, at + ENABLING_MS);
}

/** The places of events at an endpoint, but of those that a person has sent out of their turn. */
function placesAt(name: string, { deliveries, givenUp }: Evidence): Map<string, number> {
  const own = deliveries.filter(({ endpoint }) => endpoint === name);
  const places = new Map(own.filter(({ replay }) => replay === "").map(({ event, seq }) => [event, seq]));
  for (const { endpoint, event } of givenUp) if (endpoint === name) places.delete(event);
  for (const { event, replay, seq, wasRedelivered } of own) {
    const isReplayedBefore = replay !== "" && seq < (places.get(event) ?? 0);
    if (isReplayedBefore || (replay === "" && wasRedelivered)) places.delete(event);
  }
  return places;
}
