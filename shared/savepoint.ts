import type { Transaction } from "../ports/database.ts";
import { isOfTheMoment } from "./outage.ts";

/**
 * Does something within a transaction that goes on if it is refused: what it wrote is undone, and the refusal returned. Null
 * when it was not refused.
 *
 * @throws the database is at fault, or the transaction can't go on.
 */
export async function refusalOf(tx: Transaction, body: () => Promise<void>): Promise<Error | null> {
  await tx.unsafe("savepoint attempted", []);
  try {
    await body();
  } catch (error) {
    if (isOfTheMoment(error)) throw error;
    await tx.unsafe("rollback to savepoint attempted", []);
    return error instanceof Error ? error : new Error(String(error));
  }
  await tx.unsafe("release savepoint attempted", []);
  return null;
}
