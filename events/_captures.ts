import type { Database } from "../ports/database.ts";
import type { Log } from "../ports/log.ts";
import { CAPTURE_MARK } from "./capture_changes.ts";

/**
 * Functions of triggers that run with their owner's rights and were made by an older `captureChanges`, or that a role other
 * than their owner may attach to a table of its own: a dump that was restored without its rights gives them back to all.
 */
const UNSAFE = `
  select
    function.oid::regprocedure::text as function,
    function.proowner::regrole::text as owner,
    (
      select json_agg(json_build_array(space.nspname, captured.relname) order by trigger.oid)::text
      from pg_catalog.pg_trigger as trigger
      join pg_catalog.pg_class as captured on captured.oid = trigger.tgrelid
      join pg_catalog.pg_namespace as space on space.oid = captured.relnamespace
      where trigger.tgfoid = function.oid
    ) as tables
  from pg_catalog.pg_proc as function
  where function.pronamespace = $name\${schema}$name$::regnamespace
    and function.prosecdef
    and function.proname like 'capture\\_%'
    and (
      pg_catalog.obj_description(function.oid, 'pg_proc') is distinct from $1::text
      or exists (
        select
        from pg_catalog.aclexplode(
          coalesce(function.proacl, pg_catalog.acldefault('f', function.proowner))
        ) as acl
        where acl.grantee <> function.proowner
      )
    )
  order by 1`;

/** Says which captures are to be made anew, and how. */
export async function warnOfOldCaptures(database: Database, log: Log): Promise<void> {
  for (const row of await database.query(UNSAFE, [CAPTURE_MARK])) {
    const tables = JSON.parse(String(row.tables ?? "[]")) as [string, string][];
    const [schema, table] = tables[0] ?? [];
    log.warn("a capture lets other roles act with its owner's rights: run what makes it anew", {
      function: String(row.function),
      owner: String(row.owner),
      tables: tables.map((names) => names.join(".")).join(", "),
      run: table === undefined
        ? `drop function ${row.function}`
        : `captureChanges({ tableSchema: ${JSON.stringify(schema)}, table: ${
          JSON.stringify(table)
        }, ... }).up`,
      atOnce: `revoke all on function ${row.function} from public`,
    });
  }
}
