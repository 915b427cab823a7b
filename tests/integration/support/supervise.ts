import { pause } from "../../conformance/eventually.ts";
import type { WorkerConfig } from "../programs/composition.ts";
import type { Site } from "./site.ts";

/**
 * Starts a worker again whenever it dies, as a supervisor does, until a promise has settled. Resolves to how many died.
 *
 * @throws what the promise was rejected with.
 */
export async function supervise(
  site: Site,
  config: Partial<WorkerConfig>,
  until: Promise<unknown>,
  env: Readonly<Record<string, string>> = {},
): Promise<number> {
  let over = false;
  const end = until.finally(() => over = true);
  end.catch(() => {});
  let deaths = 0;
  while (!over) {
    const { pid } = site.worker(config, env);
    while (!over && isAlive(pid)) await pause(20);
    if (!over) deaths++;
  }
  await end;
  return deaths;
}

function isAlive(pid: number): boolean {
  try {
    Deno.statSync(`/proc/${pid}`);
    return true;
  } catch {
    return false;
  }
}
