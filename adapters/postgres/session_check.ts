import { SessionSettingsError } from "../../ports/errors.ts";
import type { Log } from "../../ports/log.ts";
import type { Bounds } from "./session.ts";
import { arrayLiteral } from "./sql_text.ts";
import type { Statements } from "./statements.ts";

const READ = "select name, setting from pg_catalog.pg_settings where name = any($1::text::text[])";

/** What our statements go wrong without. Behind a pooler no session can say so by itself. */
const NEEDED: Readonly<Record<string, string>> = {
  default_transaction_isolation: "read committed",
  standard_conforming_strings: "on",
  array_nulls: "on",
};

/** What ends our statements or sessions earlier than our own bounds, in ms. */
const BOUNDS = ["statement_timeout", "lock_timeout"];
/** Since PostgreSQL 17, and on no session of ours: older servers refuse a session that names it. */
const TRANSACTION_BOUND = "transaction_timeout";

/** What a check needs. */
export interface SessionCheck {
  /** The connections that are looked at. */
  readonly database: Statements;
  /** Whether a pooler is in between, so that our sessions can't state what they rely on. */
  readonly isPooled: boolean;
  /** The bounds that we would set. */
  readonly bounds: Bounds;
  /** Where it is told what is tighter than they are. */
  readonly log: Log;
}

/**
 * Looks at a session as the role and the pooler give it, once at the start.
 *
 * @throws {SessionSettingsError} behind a pooler, with a default under which statements go wrong.
 */
export async function checkSessions({ database, isPooled, bounds, log }: SessionCheck): Promise<void> {
  const names = isPooled ? [...Object.keys(NEEDED), ...BOUNDS, TRANSACTION_BOUND] : [TRANSACTION_BOUND];
  const rows = await database.query(READ, [arrayLiteral(names)]);
  for (const { name, setting } of rows) {
    const parameter = String(name);
    const expected = NEEDED[parameter];
    if (expected === undefined) warnOfBound(parameter, Number(setting), bounds, log);
    else if (setting !== expected) throw new SessionSettingsError(parameter, String(setting), expected);
  }
}

function warnOfBound(parameter: string, ms: number, bounds: Bounds, log: Log): void {
  const own = parameter === "lock_timeout" ? bounds.lockTimeoutMs : bounds.statementTimeoutMs;
  if (ms === 0 || (own !== 0 && ms >= own)) return;
  log.warn("session with a tighter bound", {
    parameter,
    ms,
    effect:
      "the server ends our statements earlier than we would; work that takes longer is tried again and again",
    remedy: `alter role ... set ${parameter} = ${own}`,
  });
}
