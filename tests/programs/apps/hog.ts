/** Uses up the heap. */
export default function hog(): never {
  const held: number[][] = [];
  for (;;) held.push(new Array(100_000).fill(held.length));
}
