import type { Tx } from "../ports/tx.ts";
import { asTexts, refuse, rowsOf } from "./_rows.ts";

/** The parts of a Prisma interactive transaction on PostgreSQL that are used. */
export interface PrismaTransaction {
  /** Runs one statement. */
  $queryRawUnsafe(text: string, ...params: unknown[]): PromiseLike<unknown>;
}

/**
 * Wraps an open Prisma transaction as a `Tx`.
 *
 * @throws {TypeError} if it is the client, not the `tx` of `prisma.$transaction(async (tx) => ...)`.
 *
 * @example
 * ```ts
 * await prisma.$transaction(async (tx) => {
 *   await tx.order.create({ data: order });
 *   await millrace.with(prismaTx(tx)).enqueue("order.mail", { orderId: order.id });
 * });
 * ```
 */
export function prismaTx(tx: PrismaTransaction): Tx {
  const expected = "what $transaction(async (tx) => ...) hands over";
  if (typeof tx?.$queryRawUnsafe !== "function") {
    throw refuse("Prisma", "it has no $queryRawUnsafe()", expected);
  }
  if (typeof Reflect.get(tx, "$connect") === "function") throw refuse("Prisma", "it is the client", expected);
  return {
    unsafe: async (text, params) => {
      try {
        return rowsOf(await tx.$queryRawUnsafe(text, ...asTexts(params)));
      } catch (error) {
        throw driverError(error);
      }
    },
  };
}

/** Prisma's error has its own code; the SQLSTATE is in what the underlying driver reported. */
function driverError(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const meta: unknown = Reflect.get(error, "meta");
  const adapter = member(member(meta, "driverAdapterError"), "cause");
  const code = member(adapter, "originalCode") ?? member(meta, "code");
  if (typeof code !== "string") return error;
  const message = member(adapter, "originalMessage") ?? member(meta, "message") ?? error.message;
  return Object.assign(new Error(String(message), { cause: error }), { code });
}

function member(value: unknown, key: string): unknown {
  return typeof value === "object" && value !== null ? Reflect.get(value, key) : undefined;
}
