import { type Settlement, sqlStateOf } from "../ports/mod.ts";

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
 * The settlement with the words of its error in ASCII, which every encoding has: other characters become their code, such
 * as `\u{1f4a5}`. Undefined when they are ASCII already.
 */
export function asciiSettlement(settlement: Settlement): Settlement | undefined {
  const { error } = settlement;
  if (error === null) return undefined;
  const message = ascii(error.message);
  const stack = error.stack === undefined ? undefined : ascii(error.stack);
  if (message === error.message && stack === error.stack) return undefined;
  return { ...settlement, error: { ...error, message, ...(stack === undefined ? {} : { stack }) } };
}

/** A text in which every character beyond ASCII is written as its code. */
export function ascii(text: string): string {
  return text.replace(/[^\x20-\x7e\n\t]/gu, (character) => `\\u{${character.codePointAt(0)!.toString(16)}}`);
}
