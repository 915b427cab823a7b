import type { CompositionInput } from "../ports/composition.ts";
import type { Executor, LostThread } from "../ports/executor.ts";
import type { Log } from "../ports/log.ts";
import type { Service } from "../ports/runtime.ts";
import type { Schedule } from "../ports/schedule.ts";
import type { Store } from "../ports/store.ts";
import type { UpkeepRecords } from "./_upkeep.ts";
import type { Settings } from "./settings.ts";

/** What a runtime is built of. */
export interface RuntimeOptions extends CompositionInput {
  /** Keeps the jobs. */
  readonly store: Store;
  /** Runs the handlers. */
  readonly executor: Executor;
  /** Knows cron expressions. */
  readonly schedule: Schedule;
  /** What works beside the jobs. Default nothing. */
  readonly services?: readonly Service[];
  /** Works only these queues. Default all that are declared. */
  readonly work?: readonly string[];
  /** Times and sizes. */
  readonly settings?: Partial<Settings>;
  /** For people, in logs and on the record of processes: host and process id. Default `runtime`. */
  readonly name?: string;
  /** Default: silent. */
  readonly log?: Log;
  /** Where the upkeep of the services is recorded, beside its own. Default one of its own. */
  readonly upkeep?: UpkeepRecords;
  /** Called for each thread that could not be ended: this process should soon be replaced. */
  readonly onThreadLost?: (thread: LostThread) => void;
}
