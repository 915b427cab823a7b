/**
 * The webhooks of Millrace, as a program that is measured.
 *
 * @module
 */
import { WebhooksBench } from "../../webhooks.ts";
import { serve } from "../shared/serve.mjs";

let bench: WebhooksBench;

await serve({
  async open({ url, schema }: { url: string; schema: string }) {
    bench = await WebhooksBench.open(url, schema);
  },
  async deliver({ events }: { events: number }) {
    const { count, firstAt, lastAt } = await bench.deliver(events);
    return { done: count, seconds: Math.max(1, lastAt - firstAt) / 1000 };
  },
  close: () => bench[Symbol.asyncDispose](),
});
