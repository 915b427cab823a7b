import type { Log } from "../../../ports/log.ts";
import type { Statements } from "../sql/statements.ts";

/** Superusers may always connect, but for what the server as a whole has. Below zero there is no limit. */
const READ = `
  select
    case when not rolsuper and rolconnlimit >= 0 then rolconnlimit end as role,
    case when not rolsuper and datconnlimit >= 0 then datconnlimit end as database,
    current_setting('max_connections')::int as server
  from pg_catalog.pg_roles cross join pg_catalog.pg_database
  where rolname = session_user and datname = current_database()`;

const REMEDIES = {
  role: "alter role ... connection limit ..., or a smaller pool",
  database: "alter database ... connection limit ..., or a smaller pool",
  server: "a higher max_connections, or a smaller pool",
} as const;

/** What a check needs. */
export interface LimitCheck {
  /** Connections without a pooler in between, whose sessions are this program's. */
  readonly database: Statements;
  /** How many connections this program may open. */
  readonly connections: number;
  /** Where it is told which limit is below that. */
  readonly log: Log;
}

/** Tells of each limit under which this program can't open all of its connections, even if nobody else had any. */
export async function warnOfLimits({ database, connections, log }: LimitCheck): Promise<void> {
  const [row] = await database.query(READ);
  for (const [of, remedy] of Object.entries(REMEDIES)) {
    const limit = row?.[of] ?? null;
    if (limit === null || Number(limit) >= connections) continue;
    log.warn("fewer connections allowed than this program may open", {
      of,
      limit: Number(limit),
      connections,
      effect: "statements wait for each other's connections, and fail where a pool gets none",
      remedy,
    });
  }
}
