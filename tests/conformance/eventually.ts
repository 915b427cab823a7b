/**
 * The pause before each look is a tenth of the time waited so far, within these bounds, in ms: each look costs a
 * statement or two.
 */
const LOOK_MS_MIN = 10;
const LOOK_MS_MAX = 50;

/**
 * Calls a function until it neither throws nor returns false or undefined, and resolves to its result.
 *
 * @throws at the deadline: what the function last threw, or that the condition never held.
 */
export async function eventually<T>(
  look: () => T | Promise<T>,
  deadlineMs: number = 5000,
): Promise<Exclude<T, false | undefined>> {
  const began = performance.now();
  for (;;) {
    let failure: unknown = new Error("it never held");
    try {
      const found = await look();
      if (found !== false && found !== undefined) return found as Exclude<T, false | undefined>;
    } catch (error) {
      failure = error;
    }
    const waitedMs = performance.now() - began;
    if (waitedMs >= deadlineMs) {
      const reason = failure instanceof Error ? failure.message : String(failure);
      throw new Error(`After ${deadlineMs} ms: ${reason}`, { cause: failure });
    }
    await pause(Math.min(Math.max(waitedMs / 10, LOOK_MS_MIN), LOOK_MS_MAX, deadlineMs - waitedMs));
  }
}

/**
 * Resolves after this many ms. Use it to show that something does not happen; to wait for something, use {@linkcode
 * eventually}.
 */
export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
