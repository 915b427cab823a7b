import { pause } from "../conformance/eventually.ts";

/** So long a run waits before it says that jobs are stuck, in ms. */
const DRAIN_MS_MAX = 240_000;

/** Waits until a count of jobs that have not ended is 0. Resolves to how many are stuck. */
export async function drain(count: () => Promise<number>, say: (line: string) => void): Promise<number> {
  const deadline = performance.now() + DRAIN_MS_MAX;
  for (;;) {
    const left = await count();
    if (left === 0) return 0;
    if (performance.now() > deadline) {
      say(`${left} jobs have not ended`);
      return left;
    }
    await pause(200);
  }
}
