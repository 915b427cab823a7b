import { toBase64 } from "../../../events/signing/base64.ts";
import { Webhooks, type WebhooksOptions } from "../../../webhooks/mod.ts";
import { createLog, createRuntime, type EventType, type PostgresRuntime } from "../../../mod.ts";

/** A key to seal secrets with. */
export const SECRET_KEY: string = toBase64(new Uint8Array(32).fill(7));

const TYPES: readonly EventType[] = [
  { type: "order.placed", description: "An order.", subject: "its id", exposure: "webhook" },
  { type: "order.paid", description: "Money.", subject: "its id", exposure: "webhook" },
  { type: "mail.sent", description: "Nobody else's business.", subject: "its id" },
];

/** How a process with webhooks differs from others. */
export interface ProcessOptions extends WebhooksOptions {
  /** Concurrency of the queue. Default 50. */
  readonly concurrency?: number;
  /** After how long a process without a heartbeat is lost, in ms. Default the runtime's. */
  readonly lostAfterMs?: number;
}

/** Where a process keeps what it does. */
export interface Place {
  /** The database. */
  readonly url: string;
  /** The schema. */
  readonly schema: string;
}

/** Builds a process with webhooks; it is not started. Its log goes to `write`, a line at a time. */
export function buildProcess(
  place: Place,
  options: ProcessOptions,
  write: (line: string) => void,
): { readonly runtime: PostgresRuntime; readonly webhooks: Webhooks } {
  const { concurrency = 50, lostAfterMs, ...given } = options;
  const webhooks = new Webhooks({
    secretKey: SECRET_KEY,
    egress: { allowHttp: true, allowAddresses: ["127.0.0.1"] },
    ...given,
    // A tenth of a second is what ten of them are otherwise.
    settings: { scheduleMs: [50, 100, 200], probeMs: 200, ...given.settings },
  });
  const { url, schema } = place;
  const runtime = createRuntime({
    url,
    schema,
    registrars: [{ eventTypes: TYPES }, webhooks.registrar],
    queues: [{ name: "webhook", concurrency }],
    settings: {
      pollMs: 100,
      ...(lostAfterMs === undefined ? {} : { lostAfterMs, heartbeatMs: lostAfterMs / 3 }),
    },
    log: createLog({ level: "info", write }),
  });
  return { runtime, webhooks };
}
