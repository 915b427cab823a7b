import type { MigrationStep } from "../../../ports/database.ts";
import { JOBS_PART, type MigrationSql, printMigration } from "./migrate.ts";
import { CREATE_ASIDE, DROP_ASIDE } from "./steps/aside.ts";
import { BOUND_ARGS, UNBOUND_ARGS } from "./steps/bound_args.ts";
import { BOUND_PRIORITY, UNBOUND_PRIORITY } from "./steps/bound_priority.ts";
import { CREATE_JOBS, DROP_JOBS } from "./steps/create_jobs.ts";
import {
  CREATE_ENQUEUE,
  DROP_ENQUEUE,
  ENQUEUE_ALOUD,
  ENQUEUE_IN_RANGE,
  ENQUEUE_SILENTLY,
} from "./steps/enqueue_function.ts";
import { CREATE_KEY_RULES, DROP_KEY_RULES } from "./steps/key_rules.ts";
import { CREATE_LISTENING, DROP_LISTENING } from "./steps/listening.ts";
import { CREATE_MAKE_WAY, DROP_MAKE_WAY } from "./steps/make_way.ts";
import { PERIODIC_ROWS, UNDO_PERIODIC_ROWS } from "./steps/periodic_rows.ts";
import { CREATE_PERIODIC_RUNS, DROP_PERIODIC_RUNS } from "./steps/periodic_runs.ts";
import { PIN_SEARCH_PATH, UNPIN_SEARCH_PATH } from "./steps/pin_search_path.ts";
import { CREATE_PROGRESS, DROP_PROGRESS } from "./steps/progress.ts";
import {
  CREATE_PART_VERSIONS,
  CREATE_PROTOCOL,
  DROP_PART_VERSIONS,
  DROP_PROTOCOL,
} from "./steps/protocol.ts";
import { RESTORE_DATA, UNDO_RESTORE_DATA } from "./steps/restore_data.ts";
import { CREATE_UPKEEP, DROP_UPKEEP } from "./steps/upkeep.ts";
import { KEYS_ARE_WHOLE, KEYS_MAY_LACK } from "./steps/whole_keys.ts";

export { JOBS_PART };

/**
 * The history of the job tables, oldest first. What a step does is a text of its own, which takes nothing from the statements
 * of today: those change, and what was once made does not.
 */
export const JOB_STEPS: readonly MigrationStep[] = [
  { version: 1, name: "create jobs", up: CREATE_JOBS, down: DROP_JOBS },
  { version: 2, name: "enqueue by SQL, pause queues", up: CREATE_ENQUEUE, down: DROP_ENQUEUE },
  { version: 3, name: "record upkeep", up: CREATE_UPKEEP, down: DROP_UPKEEP },
  { version: 4, name: "protocol of the processes", up: CREATE_PROTOCOL, down: DROP_PROTOCOL },
  { version: 5, name: "pin the search_path of functions", up: PIN_SEARCH_PATH, down: UNPIN_SEARCH_PATH },
  {
    version: 6,
    name: "keep the runs of periodics apart",
    up: CREATE_PERIODIC_RUNS,
    down: DROP_PERIODIC_RUNS,
  },
  { version: 7, name: "a line for what was put aside", up: CREATE_ASIDE, down: DROP_ASIDE },
  {
    version: 8,
    name: "who listens to which queue",
    up: `${CREATE_LISTENING};\n${ENQUEUE_SILENTLY}`,
    down: `${ENQUEUE_ALOUD};\n${DROP_LISTENING}`,
  },
  { version: 9, name: "progress of runs", up: CREATE_PROGRESS, down: DROP_PROGRESS },
  { version: 10, name: "bound the args of jobs", up: BOUND_ARGS, down: UNBOUND_ARGS },
  {
    version: 11,
    name: "versions of the parts that processes know",
    up: CREATE_PART_VERSIONS,
    down: DROP_PART_VERSIONS,
  },
  { version: 12, name: "the last day of enqueue by SQL", up: ENQUEUE_IN_RANGE, down: ENQUEUE_SILENTLY },
  { version: 13, name: "what kinds declare of twins", up: CREATE_KEY_RULES, down: DROP_KEY_RULES },
  { version: 14, name: "periodics as rows", up: PERIODIC_ROWS, down: UNDO_PERIODIC_ROWS },
  { version: 15, name: "restores of the data alone", up: RESTORE_DATA, down: UNDO_RESTORE_DATA },
  { version: 16, name: "bound the priority of jobs", up: BOUND_PRIORITY, down: UNBOUND_PRIORITY },
  { version: 17, name: "make way for a twin", up: CREATE_MAKE_WAY, down: DROP_MAKE_WAY },
  {
    version: 18,
    name: "kinds that processes declare",
    up: "alter table {schema}.worker add column kinds jsonb",
    down: "alter table {schema}.worker drop column kinds",
  },
  { version: 19, name: "keys that are whole", up: KEYS_ARE_WHOLE, down: KEYS_MAY_LACK },
];

/** The SQL of the job tables for people who run migrations themselves. */
export function migrationSql(schema = "millrace"): MigrationSql {
  return printMigration(schema, JOBS_PART, JOB_STEPS);
}
