/** How long the texts of one statement are at most, in characters. Nearer to 2^29 they could not even be put together. */
const BATCH_LENGTH_MAX = 16 * 1024 * 1024;

/** Parts of a list, in order, each of which fits into one statement. A part has one item at least. */
export function inBatches<T>(
  items: readonly T[],
  lengthOf: (item: T) => number,
  most: number = BATCH_LENGTH_MAX,
): (readonly T[])[] {
  const batches: (readonly T[])[] = [];
  let [from, length] = [0, 0];
  items.forEach((item, index) => {
    const own = lengthOf(item);
    if (index > from && length + own > most) {
      batches.push(items.slice(from, index));
      [from, length] = [index, 0];
    }
    length += own;
  });
  // Nearly always all fit.
  if (from === 0) return items.length === 0 ? [] : [items];
  return [...batches, items.slice(from)];
}
