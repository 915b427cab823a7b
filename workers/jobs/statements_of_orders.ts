import type { Json } from "../../ports/json.ts";
import type { Tx, TxParam, TxRow, TxStatementOptions } from "../../ports/tx.ts";
import { errorFromJson } from "../error_transfer.ts";

/** Has a statement run where the handler's transaction is. */
export type SendStatement = (
  statement: number,
  text: string,
  params: TxParam[],
  options: TxStatementOptions | undefined,
) => void;

/** Statements that were sent to the handlers' side, to be run in their transactions, and wait for their rows. */
export class StatementsOfOrders {
  #waiting = new Map<
    number,
    { readonly place: number; readonly answer: PromiseWithResolvers<readonly TxRow[]> }
  >();
  #count = 0;

  /** The transaction of an order, as this side sees it. `place` names what ends with its statements: see {@linkcode end}. */
  transaction(place: number, send: SendStatement): Tx {
    return {
      unsafe: (text, params, options) => {
        const answer = Promise.withResolvers<readonly TxRow[]>();
        const statement = ++this.#count;
        this.#waiting.set(statement, { place, answer });
        send(statement, text, params, options);
        return answer.promise;
      },
    };
  }

  /** A statement was run. */
  take(statement: number, ok: boolean, value: Json): void {
    const waiting = this.#waiting.get(statement);
    if (!this.#waiting.delete(statement)) return;
    if (!ok) waiting?.answer.reject(driverError(value));
    else if (isRows(value)) waiting?.answer.resolve(value);
    else {waiting?.answer.reject(
        new TypeError("Cannot read what a statement returned: it is no list of rows"),
      );}
  }

  /** Rows of this place don't come any more. */
  end(place: number): void {
    if (this.#waiting.size === 0) return;
    for (const [statement, waiting] of this.#waiting) {
      if (waiting.place !== place) continue;
      this.#waiting.delete(statement);
      waiting.answer.reject(new Error("The attempt ended before a statement in its transaction did"));
    }
  }
}

/** As a driver tells it: by its code. */
function driverError(told: Json): Error {
  const error = errorFromJson(told);
  const sqlState: unknown = Reflect.get(error, "sqlState");
  return sqlState === undefined ? error : Object.assign(error, { code: sqlState });
}

function isRows(value: unknown): value is readonly TxRow[] {
  return Array.isArray(value) && value.every((row) => typeof row === "object" && row !== null);
}
