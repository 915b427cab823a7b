import { type } from "arktype";
import * as v from "valibot";
import { z } from "zod";
import { defineKind } from "../../ports/typed_kind.ts";

const base = { queue: "default", maxAttempts: 3, timeout: 5000 };

/** The same args in three libraries: an order's id, and a language with a default. */
export const zodMail = defineKind({
  ...base,
  name: "mail.zod",
  args: z.object({ orderId: z.string(), language: z.enum(["de", "en"]).default("en") }),
  handler: new URL("./handlers/zod_mail.ts", import.meta.url),
});

export const valibotMail = defineKind({
  ...base,
  name: "mail.valibot",
  args: v.object({ orderId: v.string(), language: v.optional(v.picklist(["de", "en"]), "en") }),
  handler: (args) => args.language,
});

export const arkMail = defineKind({
  ...base,
  name: "mail.arktype",
  args: type({ orderId: "string", language: "'de'|'en' = 'en'" }),
  handler: (args) => args.language,
});

/** A kind that needs no args. */
export const sweep = defineKind({
  ...base,
  name: "sweep",
  args: z.object({ olderThanDays: z.number().optional() }),
  handler: (args) => args.olderThanDays ?? 30,
});

/** A kind whose handler gets something else than what is stored, from a check that takes its time. */
export const remind = defineKind({
  ...base,
  name: "remind",
  args: z.object({
    at: z.iso.datetime().transform((text) => new Date(text)),
    user: z.string().refine(async (user) => await Promise.resolve(user !== "nobody"), "no such user"),
  }),
  handler: (args) => args.at.getUTCFullYear(),
});

/** A kind whose handler enqueues the next job. */
export const mailsNext = defineKind({
  ...base,
  name: "mails.next",
  args: z.object({ orderId: z.string() }),
  handler: new URL("./handlers/mails_next.ts", import.meta.url),
});
