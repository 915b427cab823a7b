import {
  type ArgsOutput,
  type ArgsSchema,
  checkArgs,
  InvalidArgsError,
  isArgsSchema,
} from "./args_schema.ts";
import { InvalidOptionError } from "./errors.ts";
import { discard, type Handler, type JobContext } from "./handler.ts";
import type { JsonInput } from "./json.ts";
import type { Kind } from "./kind.ts";
import { show } from "./show.ts";

/** A kind whose name and args the compiler knows. Everything that takes a {@linkcode Kind} takes it. */
export interface TypedKind<Name extends string = string, Schema extends ArgsSchema = ArgsSchema>
  extends Kind {
  /** The name. */
  readonly name: Name;
  /** What its args must be. */
  readonly args: Schema;
}

/** What {@linkcode defineKind} takes: a kind with a schema, whose handler knows its args when it is a function. */
export interface TypedKindSpec<Name extends string, Schema extends ArgsSchema> extends Omit<Kind, "handler"> {
  /** As for a {@linkcode Kind}. */
  readonly name: Name;
  /** A schema of any Standard Schema library: what the args must be, at enqueue and at the handler. */
  readonly args: Schema;
  /** As for a {@linkcode Kind}; a function gets the args as the schema makes them. */
  readonly handler: TypedHandler<Schema> | string | URL;
}

/** A handler that gets its args as a schema makes them. */
export type TypedHandler<Schema extends ArgsSchema> = (
  args: ArgsOutput<Schema>,
  ctx: JobContext,
) => Promise<JsonInput | void> | JsonInput | void;

/**
 * Declares a kind whose args are described by a schema. Args that do not fit are refused at enqueue with an
 * {@linkcode InvalidArgsError}; what is stored is what was handed over, and the handler gets what the schema makes of it.
 *
 * @example
 * ```ts ignore
 * import { defineKind } from "@millrace/millrace/ports";
 * import { z } from "zod";
 *
 * export const orderMail = defineKind({
 *   name: "order.mail",
 *   args: z.object({ orderId: z.string(), language: z.enum(["de", "en"]).default("en") }),
 *   queue: "default",
 *   maxAttempts: 5,
 *   timeout: 30_000,
 *   handler: new URL("./order_mail_handler.ts", import.meta.url),
 * });
 * ```
 */
export function defineKind<const Name extends string, Schema extends ArgsSchema>(
  spec: TypedKindSpec<Name, Schema>,
): TypedKind<Name, Schema> {
  checkKind(spec);
  const { handler } = spec;
  return { ...spec, handler: typeof handler === "function" ? handlerOf(spec, handler) : handler };
}

/**
 * Makes the handler of a typed kind, for a module of its own: it checks the args of each job, which an older program or
 * another language may have written, and hands on what the schema makes of them. Args that do not fit are discarded at
 * once, with the issues as the reason: they would be read the same way on every attempt.
 *
 * @example The module that `order.mail` names as its handler
 * ```ts ignore
 * import { handlerOf } from "@millrace/millrace/ports";
 * import { orderMail } from "./order_mail.ts";
 *
 * export default handlerOf(orderMail, async ({ orderId, language }, ctx) => {
 *   await send(orderId, language, ctx.signal);
 * });
 * ```
 */
export function handlerOf<Schema extends ArgsSchema>(
  kind: { readonly name: string; readonly args: Schema },
  handler: TypedHandler<Schema>,
): Handler {
  checkKind(kind);
  if (typeof handler !== "function") {
    throw new InvalidOptionError("handler", handler, `a function, for kind ${show(kind.name)}`);
  }
  return async (args, ctx) => {
    let checked: ArgsOutput<Schema>;
    try {
      checked = await checkArgs(kind.name, kind.args, args);
    } catch (error) {
      throw error instanceof InvalidArgsError ? discard(error.message) : error;
    }
    return await handler(checked, ctx);
  };
}

function checkKind(kind: { readonly name: string; readonly args: ArgsSchema }): void {
  if (typeof kind !== "object" || kind === null) {
    throw new InvalidOptionError("a kind", kind, "an object with name and args");
  }
  if (isArgsSchema(kind.args)) return;
  throw new InvalidOptionError(
    "args",
    kind.args,
    `a schema of a Standard Schema library, version 1, for kind ${show(kind.name)}`,
  );
}
