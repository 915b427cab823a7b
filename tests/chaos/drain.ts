import { pause } from "../conformance/eventually.ts";
import type { Tables } from "./tables.ts";

/** So long a run waits before it says that jobs are stuck, in ms. */
const DRAIN_MS_MAX = 240_000;

/** Waits until nothing is left but what the periodics will always bring. Resolves to how many jobs are stuck. */
export async function drain(tables: Tables, say: (line: string) => void): Promise<number> {
  const deadline = performance.now() + DRAIN_MS_MAX;
  for (;;) {
    const left = await tables.left();
    if (left === 0) return 0;
    if (performance.now() > deadline) {
      say(`${left} jobs have not ended`);
      return left;
    }
    await pause(200);
  }
}
