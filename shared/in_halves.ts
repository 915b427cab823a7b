import { StatementTimeoutError } from "../ports/errors.ts";
import { isOfTheMoment } from "./outage.ts";

/** So many refused in a row, and none that was not: then it is hardly the items' fault. */
const REFUSED_MAX = 16;

/** What a refusal names. */
export interface Refused<T> {
  /** What can't be done. */
  readonly item: T;
  /** Why. */
  readonly error: unknown;
}

/** What became of many. */
export interface InHalves<T> {
  /** What the work returned, added up. */
  readonly done: number;
  /** Those that were refused by themselves. */
  readonly refused: readonly Refused<T>[];
}

/**
 * Does something with many at once. When that is refused, it is tried with each half, down to single ones, so that a bad one
 * holds up nobody else. Those that were refused before any other was taken are tried once more in the end.
 *
 * @throws the database is at fault, or everything is refused: then none of them is to blame.
 */
export async function inHalves<T>(
  items: readonly T[],
  work: (items: readonly T[]) => Promise<number>,
): Promise<InHalves<T>> {
  const refused: Refused<T>[] = [];
  let done = 0;
  let isAnyTaken = false;
  /** How many were refused before any was taken. */
  let early = 0;
  const attempt = async (part: readonly T[]): Promise<void> => {
    try {
      done += await work(part);
      if (!isAnyTaken) early = refused.length;
      isAnyTaken = true;
    } catch (error) {
      if (isOfTheMoment(error)) throw error;
      if (part.length === 1) {
        refused.push({ item: part[0]!, error });
        if (!isAnyTaken && refused.length >= REFUSED_MAX) throw error;
        return;
      }
      const middle = part.length >> 1;
      await attempt(part.slice(0, middle));
      await attempt(part.slice(middle));
    }
  };
  if (items.length > 0) await attempt(items);
  // What all were refused for may have gone meanwhile, and those that met it are not to blame.
  for (const { item } of refused.splice(0, early)) await attempt([item]);
  if (!isAnyTaken && refused.length > 0 && refused.length === items.length && items.length > 1) {
    throw refused[0]!.error;
  }
  return { done, refused };
}

/**
 * As {@linkcode inHalves}, for one step of a sweep: it goes on behind many that are refused in a row. Where all of the step is
 * refused the first item stands for it.
 *
 * @throws the database is at fault.
 */
export async function stepInHalves<T>(
  items: readonly T[],
  work: (items: readonly T[]) => Promise<number>,
): Promise<InHalves<T>> {
  const alone = new Map<T, unknown>();
  const noting = async (part: readonly T[]): Promise<number> => {
    try {
      return await work(part);
    } catch (error) {
      if (part.length === 1) alone.set(part[0]!, error);
      throw error;
    }
  };
  for (let left = items; left.length > 0; left = left.filter((item) => !alone.has(item))) {
    const before = alone.size;
    try {
      const { done, refused } = await inHalves(left, noting);
      // Those that were refused before.
      for (const item of left) alone.delete(item);
      const all = [...[...alone].map(([item, error]) => ({ item, error })), ...refused];
      return { done, refused: done === 0 ? all.slice(0, 1) : all };
    } catch (error) {
      if (isOfTheMoment(error)) throw error;
      // One that is slow by itself makes others wait, and where none is refused alone nobody knows which it is.
      if (error instanceof StatementTimeoutError || alone.size === before) break;
    }
  }
  const [first] = items;
  if (first === undefined) return { done: 0, refused: [] };
  return { done: 0, refused: [{ item: first, error: alone.get(first) ?? new Error("it was refused") }] };
}
