import { residentBytes } from "../programs/program.ts";
import type { Violation } from "./check/evidence.ts";
import type { Member } from "./fleet.ts";
import type { Tables } from "./tables.ts";

/** All is done within so long of the last fault, in ms; where more processes than cores want to run, that much later. */
const RECOVERY_MS_MAX = 60_000;
const MEMORY_MAX = 600 * 1024 * 1024;

/** What is left when a run is over. */
export interface Aftermath {
  readonly members: readonly Member[];
  readonly tables: Tables;
  /** The connections of each program's pool. */
  readonly pool: number;
  /** How long it took from the last fault until all jobs had ended, in ms. */
  readonly recoveryMs: number;
  /** How many jobs have not. */
  readonly left: number;
}

/** Recovered in time, no more connections and memory than at the start, and an end in order that leaves nothing. */
export async function aftermath(
  { members, tables, pool, recoveryMs, left }: Aftermath,
): Promise<Violation[]> {
  const found: Violation[] = [];
  const share = Math.max(1, Deno.loadavg()[0]! / navigator.hardwareConcurrency);
  if (left > 0 || recoveryMs > RECOVERY_MS_MAX * share) {
    found.push({ rule: "recovery", text: `${left} jobs were left ${recoveryMs} ms after the last fault` });
  }
  // The producers' pool, one for each worker, and the second one at the pooler.
  const most = (members.length + 2) * pool;
  const connections = await tables.connections();
  if (connections > most) {
    found.push({ rule: "connections", text: `${connections} are open, ${most} would be the pools` });
  }
  for (const { worker } of members) {
    const bytes = worker === null ? 0 : await residentBytes(worker).catch(() => 0);
    if (bytes <= MEMORY_MAX) continue;
    const text = `the worker program ${worker} has ${Math.round(bytes / 2 ** 20)} MiB`;
    found.push({ rule: "memory", text });
  }
  const ends = await Promise.all(members.map((member) => member.end()));
  if (ends.includes(false)) found.push({ rule: "stop", text: "a worker did not end in order within 90 s" });
  const { running, workers, marks } = await tables.leftovers();
  if (running + workers + marks > 0) {
    const text =
      `${running} running jobs, ${workers} processes and ${marks} start marks are left on the record`;
    found.push({ rule: "leftovers", text });
  }
  return found;
}
