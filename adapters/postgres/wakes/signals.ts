import type { ChannelSubscription } from "../../../ports/database.ts";
import type { Signal, SignalObserver, SignalSubscription } from "../../../ports/store.ts";
import type { PostgresDatabase } from "../connection/database.ts";
import { arrayLiteral } from "../sql/sql_text.ts";
import type { RunStatement } from "../sql/statements.ts";
import { silence } from "./silence.ts";
import type { SilentQueues } from "./silent_queues.ts";

/** The channel of all signals of a schema. */
export const SIGNALS_CHANNEL = "signals";

/** PostgreSQL refuses payloads of 8,000 bytes and more. */
const PAYLOAD_BYTES_MAX = 7900;

const NOTIFY = `
  select pg_notify($1::text, payload)
  from unnest($2::text::text[]) as payloads (payload)`;

/** Where signals are sent to. */
export interface SignalTarget {
  /** The channel, by its name in PostgreSQL. */
  readonly channel: string;
  /** The queues for which nobody needs to be woken. */
  readonly silent: SilentQueues;
}

/** Wakes queues, except those for which nobody needs to be woken. */
const WAKE = `
  select
    queue,
    coalesce(
      ${silence("signals.queue")},
      pg_notify($1::text, payload)::text
    ) as woken
  from unnest($2::text::text[], $3::text::text[]) as signals (queue, payload)`;

/** No name and no id is longer. Whatever else arrives is not ours: any login of the database can send to the channel. */
const VALUE_LENGTH_MAX = 256;

type Packed = readonly [letter: string, value: string, kind?: string];

const LETTERS = {
  ready: "r",
  aside: "a",
  cancel: "c",
  wait: "w",
  final: "f",
  pause: "p",
  resume: "u",
} as const;

/** The payload that says that a queue has due jobs. */
export function readySignal(queue: string): string {
  return JSON.stringify([[LETTERS.ready, queue]]);
}

/** Puts signals into as few payloads as they fit in. */
export function packSignals(signals: readonly Signal[]): string[] {
  const encoder = new TextEncoder();
  const payloads: string[] = [];
  let parts: string[] = [];
  let bytes = 2;
  for (const signal of signals) {
    const value = "queue" in signal ? signal.queue : signal.id;
    const letter = LETTERS[signal.type];
    const packed: Packed = signal.type === "aside" ? [letter, value, signal.kind] : [letter, value];
    const part = JSON.stringify(packed);
    const size = encoder.encode(part).length + 1;
    if (parts.length > 0 && bytes + size > PAYLOAD_BYTES_MAX) {
      payloads.push(`[${parts.join(",")}]`);
      parts = [];
      bytes = 2;
    }
    parts.push(part);
    bytes += size;
  }
  if (parts.length > 0) payloads.push(`[${parts.join(",")}]`);
  return payloads;
}

/** Reads a payload; what is not understood, perhaps of a newer program, is left out. */
export function unpackSignals(payload: string): Signal[] {
  let packed: unknown;
  try {
    packed = JSON.parse(payload);
  } catch {
    return [];
  }
  if (!Array.isArray(packed)) return [];
  return packed.flatMap((entry: unknown): Signal[] => {
    if (!Array.isArray(entry) || typeof entry[1] !== "string" || entry[1].length > VALUE_LENGTH_MAX) {
      return [];
    }
    const [letter, value, kind] = entry as [unknown, string, unknown];
    if (letter === LETTERS.ready) return [{ type: "ready", queue: value }];
    if (letter === LETTERS.aside) {
      return typeof kind === "string" ? [{ type: "aside", queue: value, kind }] : [];
    }
    if (letter === LETTERS.cancel) return [{ type: "cancel", id: value }];
    if (letter === LETTERS.wait) return [{ type: "wait", id: value }];
    if (letter === LETTERS.pause) return [{ type: "pause", queue: value }];
    if (letter === LETTERS.resume) return [{ type: "resume", queue: value }];
    if (letter === LETTERS.final) return [{ type: "final", id: value }];
    return [];
  });
}

/** Sends signals to every process on the schema, but not that a queue is ready for which nobody needs to be woken. */
export async function sendSignals(
  run: RunStatement,
  { channel, silent }: SignalTarget,
  signals: readonly Signal[],
): Promise<void> {
  const isReady = (signal: Signal) => signal.type === "ready" && !silent.distrusted;
  const ready = signals.flatMap((signal) => isReady(signal) && "queue" in signal ? [signal.queue] : []);
  const others = signals.filter((signal) => !isReady(signal));
  const unknown = ready.filter((queue) => !silent.has(queue));
  if (others.length > 0) await run(NOTIFY, [channel, arrayLiteral(packSignals(others))]);
  if (unknown.length === 0) return;
  const rows = await run(WAKE, [channel, arrayLiteral(unknown), arrayLiteral(unknown.map(readySignal))]);
  for (const { queue, woken } of rows) silent.note(String(queue), woken !== "");
}

/** Subscribes to the signals of the schema. */
export async function subscribeSignals(
  database: PostgresDatabase,
  observer: SignalObserver,
): Promise<SignalSubscription> {
  const subscription: ChannelSubscription = await database.listen(SIGNALS_CHANNEL, {
    message(payload) {
      for (const signal of unpackSignals(payload)) observer.signal(signal);
    },
    ready() {
      observer.ready();
    },
  });
  return subscription;
}
