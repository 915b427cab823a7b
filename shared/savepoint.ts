import type { Transaction } from "../ports/database.ts";
import { isOfTheMoment } from "./outage.ts";

/**
 * Runs `body` in a savepoint, so that the transaction can continue if the body is refused. Its writes are then undone,
 * and the refusal is returned; null when it was not refused.
 *
 * @throws if the database is at fault, or the transaction can't continue.
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
