import type { AttemptOutcome } from "../../ports/executor.ts";
import type { HostDeath } from "./host_process.ts";

/** How an attempt was placed in a process. */
export interface Placement {
  /** Nothing else was in the process. */
  readonly single: boolean;
  /** It was put alone because a process may have died of it before. */
  readonly alone: boolean;
  /** The memory cap of the process, in bytes. */
  readonly memory: number | undefined;
}

/** What the death of a host process makes of an attempt in it. */
export function outcomeOfDeath(death: HostDeath, placement: Placement): AttemptOutcome {
  const { single, alone, memory } = placement;
  if (death.killed === "recycle") {
    return { type: "released", reason: "its host process was ended for another job's sake", alone: false };
  }
  if (death.killed === "memory" || single && death.outOfMemory) {
    const cap = memory === undefined ? "what there is" : `its cap of ${memory} bytes`;
    return { type: "failed", class: "memory", message: `its host process needed more memory than ${cap}` };
  }
  // A process that says nothing may be frozen by whoever runs this machine, and no job need be to blame. Alone it is
  // charged all the same: a job whose processes fall silent each time would be given back for ever.
  if (death.killed === "silent" && death.wasReady && !alone) {
    return { type: "released", reason: "its host process was silent and was ended", alone: true };
  }
  // One that never answered has not run anybody's job: starting it is what failed.
  if (single || !death.wasReady) return { type: "failed", class: "crash", message: death.message };
  return { type: "released", reason: `it shared what died: ${death.message}`, alone: true };
}
