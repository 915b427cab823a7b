import { defineKind } from "@millrace/millrace/ports";
import { z } from "zod";

/** The mail that thanks for an order. */
export const orderMail = defineKind({
  name: "order.mail",
  args: z.object({ id: z.number().int(), customer: z.string().min(1) }),
  queue: "notify",
  maxAttempts: 5,
  timeout: 30_000,
  handler: new URL("./order_mail_handler.ts", import.meta.url),
});
