import type { Timer } from "./_timer.ts";

/** Whether something ends within a bound. A failure counts as an end. */
export async function within(what: Promise<unknown>, maxMs: number): Promise<boolean> {
  let timer: Timer | undefined;
  const late = new Promise<boolean>((resolve) =>
    timer = setTimeout(() => resolve(false), Math.max(0, maxMs))
  );
  const ended = await Promise.race([what.then(() => true, () => true), late]);
  clearTimeout(timer);
  return ended;
}
