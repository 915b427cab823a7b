/**
 * SQL that gives the roles that have rights on some tables the same on a new one, which begins with none but its owner's.
 * Without it a role that isn't the owner could no longer do after a migration what it did before. Rights on single columns
 * are not copied.
 *
 * @param made The new table.
 * @param siblings The tables whose readers and writers use it too.
 */
export function grantAsOn(made: string, siblings: readonly string[]): string {
  const oid = (table: string) => `$name\${schema}.${table}$name$::regclass`;
  return `
do $body$
declare
  given record;
begin
  for given in
    select distinct acl.grantee, acl.privilege_type
    from pg_class as sibling
    cross join aclexplode(coalesce(sibling.relacl, acldefault('r', sibling.relowner))) as acl
    join pg_class as made on made.oid = ${oid(made)}
    where sibling.oid in (${siblings.map(oid).join(", ")})
      and acl.privilege_type in ('SELECT', 'INSERT', 'UPDATE', 'DELETE')
      and acl.grantee <> made.relowner
  loop
    execute format(
      'grant %s on %s to %s',
      given.privilege_type,
      ${oid(made)},
      case when given.grantee = 0 then 'public' else given.grantee::regrole::text end
    );
  end loop;
end
$body$`;
}
