import type { Line } from "../journal.ts";
import type { Violation } from "./evidence.ts";
import type { History } from "./history.ts";

type Receipt = Line & { readonly what: "received" };

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

function delivered({ evidence }: History, receipts: readonly Receipt[]): Violation[] {
  const told = new Set(
    receipts.filter(({ answer }) => answer === "200" || answer === "slow")
      .map(({ endpoint, event }) => `${endpoint} ${event}`),
  );
  const rows = Map.groupBy(evidence.deliveries, ({ endpoint, event }) => `${endpoint} ${event}`);
  return evidence.events.flatMap(({ id, type }) => {
    if (!evidence.exposed.includes(type)) return [];
    return evidence.endpoints.flatMap(({ name }): Violation[] => {
      const key = `${name} ${id}`;
      const [row, ...more] = rows.get(key) ?? [];
      const say = (text: string) => [{ rule: "delivery", event: id, text: `to ${name}: ${text}` }];
      if (row === undefined) return say("there is none");
      if (more.length > 0) return say(`there are ${more.length + 1}`);
      if (row.state !== "delivered") return say(`it is ${row.state}: ${row.reason}`);
      return told.has(key) ? [] : say("it is on record as delivered, and no receipt was answered well");
    });
  });
}

/** At an ordered endpoint a delivery first arrives after the one before it, however often either is repeated. */
function inOrder({ evidence }: History, receipts: readonly Receipt[]): Violation[] {
  return evidence.endpoints.filter(({ ordered }) => ordered).flatMap(({ name }) => {
    const places = new Map(
      evidence.deliveries.filter(({ endpoint }) => endpoint === name).map(({ event, seq }) => [event, seq]),
    );
    const seen = new Set<string>();
    let last = 0;
    return receipts.filter(({ endpoint }) => endpoint === name).flatMap(({ event }): Violation[] => {
      const place = places.get(event);
      if (place === undefined || seen.has(event)) return [];
      seen.add(event);
      const before = last;
      last = Math.max(last, place);
      if (place > before) return [];
      return [{ rule: "order", event, text: `at ${name} it came as number ${place} after number ${before}` }];
    });
  });
}
