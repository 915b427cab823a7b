/** Resolves when `condition` holds; rejects when it does not within `maxMs`. */
export async function until(condition: () => boolean | Promise<boolean>, maxMs = 10_000): Promise<void> {
  const end = performance.now() + maxMs;
  while (!await condition()) {
    if (performance.now() > end) throw new Error(`${condition} did not hold within ${maxMs} ms`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
