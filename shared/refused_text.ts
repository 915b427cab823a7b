import { sqlStateOf } from "../ports/errors.ts";
import { asciiText } from "./text.ts";

/**
 * SQLSTATEs that say that a text, or the JSON in it, can't be stored: a character that the database's encoding lacks, a
 * number beyond its range, a value beyond its size.
 */
const OF_TEXT = /^(22021|22P05|22P02|22003|2203.|54...)$/;

/** Whether a store refused a statement because of a text in it. */
export function refusesText(error: unknown): boolean {
  return OF_TEXT.test(sqlStateOf(error) ?? "");
}

/**
 * Writes texts as they are, or in ASCII where the store can't hold one of them. For the words of people and of other programs,
 * which must not decide whether something is recorded.
 */
export async function writeText<T, R>(value: T, write: (value: T) => Promise<R>): Promise<R> {
  try {
    return await write(value);
  } catch (error) {
    if (!refusesText(error)) throw error;
    return await write(inAscii(value));
  }
}

/** A value of JSON all of whose texts are in ASCII. */
function inAscii<T>(value: T): T {
  return JSON.parse(
    JSON.stringify(value),
    (_key, inner) => typeof inner === "string" ? asciiText(inner) : inner,
  );
}
