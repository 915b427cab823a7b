import { defineApp } from "@millrace/millrace";
import { housekeeping } from "./housekeeping.ts";
import { mail } from "./mail/registrar.ts";
import { orders } from "./orders.ts";
import { search } from "./search.ts";
import { webhooks } from "./webhooks.ts";

/** The composition root: which domains there are, and how much of each runs at once. */
export default defineApp({
  registrars: [orders, mail, search, webhooks.registrar, housekeeping],
  queues: { outbound: 8, inbound: 8, notify: 4 },
});
