import { DatabaseSetupError } from "../../../ports/errors.ts";
import type { RunStatement } from "../sql/statements.ts";

/** The SQLSTATE of a missing right. */
const INSUFFICIENT_PRIVILEGE = "42501";

/**
 * The tables of which policies may hide rows from this role, or refuse them. A policy without a condition lets all
 * through; what the role may not do at all needs none.
 */
const RESTRICTED = `
  with policy as (
    select
      polrelid,
      polcmd,
      polpermissive,
      coalesce(pg_catalog.pg_get_expr(polqual, polrelid), 'true') = 'true'
        and coalesce(pg_catalog.pg_get_expr(polwithcheck, polrelid), 'true') = 'true' as lets_all_through
    from pg_catalog.pg_policy
    where exists (
      select from unnest(polroles) as role where role = 0 or pg_catalog.pg_has_role(role, 'usage')
    )
  )
  select relname as name
  from pg_catalog.pg_class as class
  where relnamespace = pg_catalog.to_regnamespace($1::text)
    and relrowsecurity
    and pg_catalog.row_security_active(oid)
    and exists (
      select
      from (values ('r', 'select'), ('a', 'insert'), ('w', 'update'), ('d', 'delete')) as act (command, privilege)
      where pg_catalog.has_table_privilege(class.oid, privilege)
        and (
          select
            bool_or(lets_all_through) filter (where polpermissive) is not true
              or bool_and(lets_all_through) filter (where not polpermissive) is false
          from policy
          where polrelid = class.oid and polcmd in ('*', command::"char")
        )
    )
  order by relname`;

/** Nearly always there are none, which is found out for much less. */
const ANY = `
  select 1 as any
  from pg_catalog.pg_class
  where relnamespace = pg_catalog.to_regnamespace($1::text) and relrowsecurity
  limit 1`;

/** Whether row level security hides rows from a role: a claim that sees none looks like a queue without work. */
export class RowSecurity {
  #isSeen = false;

  /**
   * Checks that it hides none.
   *
   * @throws {DatabaseSetupError} it may. Names all tables.
   */
  async check(run: RunStatement, quotedSchema: string): Promise<void> {
    const rows = (await run(ANY, [quotedSchema])).length === 0 ? [] : await run(RESTRICTED, [quotedSchema]);
    if (rows.length === 0) {
      this.#isSeen = true;
      return;
    }
    const tables = rows.map(({ name }) => `${quotedSchema}.${name}`).join(", ");
    throw new DatabaseSetupError(
      INSUFFICIENT_PRIVILEGE,
      `Cannot work with these tables: row level security is active on them for this role, and may hide rows from it: ` +
        `${tables}: alter table ... disable row level security, or give the role a policy ` +
        `(create policy ... to role using (true) with check (true)), the attribute BYPASSRLS or the tables`,
    );
  }

  /** As {@linkcode check}, until it was found that it hides none. */
  async checkOnce(run: RunStatement, quotedSchema: string): Promise<void> {
    if (!this.#isSeen) await this.check(run, quotedSchema);
  }
}
