import { InvalidOptionError } from "../ports/errors.ts";
import { isEventTypeName } from "../shared/event_glob.ts";
import { checkIdentifier, quoteIdentifier as quote } from "../shared/identifier.ts";
import { checkOptions, type Options, UNCHECKED } from "../shared/options.ts";

/** What is to be captured. Expressions are SQL of the team's own, never of a user's. */
export interface CaptureOptions {
  /** The table that is watched. */
  readonly table: string;
  /** The table's schema. Default `public`. */
  readonly tableSchema?: string;
  /** The columns of its primary key, or of another key that identifies a row. */
  readonly key: readonly string[];
  /** The watched columns: an update that leaves all of them as they were records nothing. */
  readonly columns: readonly string[];
  /** The event's type, or one for each change. A change without a type records nothing. */
  readonly type: string | { readonly insert?: string; readonly update?: string; readonly delete?: string };
  /** The subject, an SQL expression over `changed`, the row: `'order:' || changed.id`. Default the key's values. */
  readonly subject?: string;
  /** The data, an SQL expression of jsonb over `changed`, or columns. Default the key and the watched columns. */
  readonly data?: string | readonly string[];
  /** The owner, an SQL expression over `changed`. Default nobody. */
  readonly owner?: string;
  /**
   * Schemas in which the expressions find functions, operators and types without their schema's name, after `pg_catalog`.
   * Default none. `up` refuses a schema in which anybody but its caller may create.
   */
  readonly searchPath?: readonly string[];
  /** The schema of Millrace's tables. Default `millrace`. */
  readonly schema?: string;
}

/** Migration SQL. */
export interface CaptureSql {
  /** Makes the triggers; run again it replaces them. Needs the outbox, so Millrace's `migrate()` comes first. */
  readonly up: string;
  /** Removes them. */
  readonly down: string;
}

const IDENTIFIER_BYTES_MAX = 63;
const SCHEMA_DEFAULT = "millrace";
/** What the text of a trigger's function stands between, and what the whole of `up` does. */
const DELIMITERS = ["$capture$", "$millrace$"] as const;
const CAPTURE: Options<CaptureOptions> = {
  table: UNCHECKED,
  tableSchema: UNCHECKED,
  key: UNCHECKED,
  columns: UNCHECKED,
  type: UNCHECKED,
  subject: UNCHECKED,
  data: UNCHECKED,
  owner: UNCHECKED,
  searchPath: UNCHECKED,
  schema: UNCHECKED,
};
const CHANGES = ["insert", "update", "delete"] as const;
type Change = typeof CHANGES[number];

/** The comment on a trigger's function. A change that must reach captures that are installed already changes it. */
export const CAPTURE_MARK = "millrace: made by captureChanges(), 2";

/**
 * The SQL of triggers that record an event for every row that is inserted, deleted, or updated in a watched column, in the
 * writer's own transaction, whoever the writer is. One statement records all of its rows at once. A delete carries the
 * last values; an update that changes nothing that is watched records nothing. TRUNCATE is not captured.
 *
 * The triggers' functions run with the rights of the role that runs `up`. Nobody else can attach them to another table,
 * and they find nothing in a schema where others may create. `up` refuses a table, and columns of a type, that belong to a
 * role with which its caller doesn't share its rights already.
 *
 * @throws {InvalidOptionError} an option is not as it should be.
 *
 * @example
 * ```ts
 * import { captureChanges } from "@millrace/millrace";
 * const { up, down } = captureChanges({
 *   table: "orders",
 *   key: ["id"],
 *   columns: ["status", "total"],
 *   type: "order.changed",
 *   subject: "'order:' || changed.id",
 * });
 * ```
 */
export function captureChanges(options: CaptureOptions): CaptureSql {
  checkOptions("a capture", options, CAPTURE);
  const types = typesOf(options);
  for (const option of ["subject", "owner"] as const) checkText(option, options[option]);
  if (options.data !== undefined && !Array.isArray(options.data)) checkText("data", options.data);
  if (Array.isArray(options.data)) checkNames("data", options.data);
  const { table, key, columns, searchPath = [], tableSchema = "public" } = options;
  checkName("table", table);
  checkName("tableSchema", tableSchema);
  checkName("schema", options.schema ?? SCHEMA_DEFAULT);
  checkNames("key", key);
  checkNames("columns", columns);
  checkSearchPath(searchPath);
  const target = `${quote(tableSchema)}.${quote(table)}`;
  const schema = quote(options.schema ?? SCHEMA_DEFAULT);
  const path = ["pg_catalog", ...searchPath.map(quote), "pg_temp"].join(", ");
  const names = new Map(CHANGES.map((change) => [change, nameOf(table, tableSchema, change)]));
  const drop = CHANGES.map((change) =>
    `drop trigger if exists ${quote(names.get(change)!)} on ${target};\n` +
    `drop function if exists ${schema}.${quote(names.get(change)!)}();\n`
  ).join("");
  const made = CHANGES.filter((change) => types[change] !== undefined).map((change) =>
    triggerSql({ change, type: types[change]!, name: names.get(change)!, target, schema, path, options })
  );
  const up = inOneStatement({
    target,
    path,
    searchPath,
    functions: made.map((each) => each.made),
    trials: made.map((each) => each.trial),
    body: drop + made.map((each) => each.sql).join(""),
  });
  return { up, down: drop };
}

interface TriggerParts {
  readonly change: Change;
  readonly type: string;
  readonly name: string;
  readonly target: string;
  readonly schema: string;
  readonly path: string;
  readonly options: CaptureOptions;
}

const REFERENCING: Readonly<Record<Change, string>> = {
  insert: "new table as new_rows",
  update: "old table as old_rows new table as new_rows",
  delete: "old table as old_rows",
};

/**
 * One statement, so that no function is ever there before its rights are taken away. It refuses what would let others run
 * code with its caller's rights: what they put on the search path, and casts of types that are theirs.
 */
function inOneStatement(
  { target, path, searchPath, functions, trials, body }: {
    readonly target: string;
    readonly path: string;
    readonly searchPath: readonly string[];
    readonly functions: readonly string[];
    readonly trials: readonly string[];
    readonly body: string;
  },
): string {
  return `do ${DELIMITERS[1]}
declare
  path_before constant pg_catalog.text := pg_catalog.current_setting('search_path');
  refusal pg_catalog.text;
  to_revoke pg_catalog.text;
begin
-- Until its schemas are known to be safe, none of them is looked at.
perform pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
${searchPath.map((name) => `perform ${literal(quote(name))}::pg_catalog.regnamespace;\n`).join("")}
with recursive others as (
  -- Who acts as this role already gains nothing.
  select oid, rolname
  from pg_catalog.pg_roles
  where rolcanlogin and not rolsuper
    and not pg_catalog.pg_has_role(oid, current_user::pg_catalog.regrole::pg_catalog.oid, 'MEMBER')
), kinds as (
  -- A cast to json is looked for in every part of a value, so a type is no safer than those that it is made of.
  select field.attname, field.atttypid as oid
  from pg_catalog.pg_attribute as field
  where field.attrelid = ${
    literal(target)
  }::pg_catalog.regclass and field.attnum > 0 and not field.attisdropped
  union
  select kinds.attname, part.oid
  from kinds
  join pg_catalog.pg_type as whole on whole.oid = kinds.oid
  cross join lateral (
    select whole.typelem as oid
    union all
    select whole.typbasetype
    union all
    select field.atttypid
    from pg_catalog.pg_attribute as field
    where field.attrelid = whole.typrelid and field.attnum > 0 and not field.attisdropped
  ) as part
  where part.oid <> 0
), hostile as (
  select pg_catalog.format('the table belongs to %s', table_row.relowner::pg_catalog.regrole) as reason, others.rolname
  from pg_catalog.pg_class as table_row
  join others on pg_catalog.pg_has_role(others.oid, table_row.relowner, 'MEMBER')
  where table_row.oid = ${literal(target)}::pg_catalog.regclass
  union all
  select
    pg_catalog.format('the type of its column %I is, or is made of, one of %s', kinds.attname, kind.typowner::pg_catalog.regrole),
    others.rolname
  from kinds
  join pg_catalog.pg_type as kind on kind.oid = kinds.oid
  join others on pg_catalog.pg_has_role(others.oid, kind.typowner, 'MEMBER')
  union all
  select
    pg_catalog.format('%s may create in the schema %I of searchPath', creator.rolname, space.nspname),
    others.rolname
  from pg_catalog.pg_namespace as space
  join pg_catalog.pg_roles as creator on pg_catalog.has_schema_privilege(creator.oid, space.oid, 'CREATE')
  join others on pg_catalog.pg_has_role(others.oid, creator.oid, 'MEMBER')
  where space.nspname::pg_catalog.text = any (${textArray(searchPath)})
  union all
  select pg_catalog.format('everybody may create in the schema %I of searchPath', space.nspname), 'PUBLIC'
  from pg_catalog.pg_namespace as space
  where space.nspname::pg_catalog.text = any (${textArray(searchPath)})
    and pg_catalog.has_schema_privilege('public', space.oid, 'CREATE')
)
select pg_catalog.format(
    'Cannot capture changes of %s: %s, so %s could run code with the rights of %s',
    ${literal(target)}, reason, rolname, current_user
  )
into refusal
from hostile
order by 1
limit 1;
if refusal is not null then
  raise exception using
    message = refusal,
    errcode = 'insufficient_privilege',
    hint = 'Run this as the role that owns the table, give searchPath only schemas in which nobody else may create, '
      'or name functions with their schema.';
end if;
${body}
-- Default privileges can have given them to others by name.
for to_revoke in
  select pg_catalog.format('revoke all on function %s from %s', oid::pg_catalog.regprocedure, acl.grantee::pg_catalog.regrole)
  from pg_catalog.pg_proc, pg_catalog.aclexplode(proacl) as acl
  where oid = any (${
    textArray(functions)
  }::pg_catalog.regprocedure[]::pg_catalog.oid[]) and acl.grantee <> proowner
loop
  execute to_revoke;
end loop;
-- What the expressions can't find is told now, and not to the first writer.
perform pg_catalog.set_config('search_path', ${literal(path)}, true);
${
    trials.map((trial) => `execute ${literal(trial)};\n`).join("")
  }perform pg_catalog.set_config('search_path', path_before, true);
end
${DELIMITERS[1]};
`;
}

/**
 * Rows are compared as they are stored, which works for columns of every type, those without an equality included. Old
 * and new rows are joined by hash or merge: the plan is kept, and a nested loop that is right for one row would take
 * minutes for 10,000. The function runs with its owner's rights, for writers who know nothing of the outbox; so nobody
 * else may attach it to a table of his own, and every name in it says its schema.
 */
function triggerSql(
  { change, type, name, target, schema, path, options }: TriggerParts,
): { readonly made: string; readonly sql: string; readonly trial: string } {
  const { key, columns } = options;
  const image = (row: string) => `row(${columns.map((column) => `${row}.${quote(column)}`).join(", ")})`;
  const joined = key.map((column) =>
    `before.${quote(column)} operator(pg_catalog.=) changed.${quote(column)}`
  ).join(" and ");
  const values = `${literal(type)}, ${subjectOf(options)}, ${options.owner ?? "null"}, ${dataOf(options)}`;
  const updated = (newRows: string, oldRows: string) =>
    `${newRows} as changed
  left join ${oldRows} as before on ${joined}
  where (
    before.${quote(key[0]!)} is null
    or pg_catalog.record_image_ne(${image("before")}, ${image("changed")})
  )`;
  const source: Readonly<Record<Change, string>> = {
    insert: "new_rows as changed",
    delete: "old_rows as changed",
    update: updated("new_rows", "old_rows"),
  };
  const rows = change === "update"
    ? `${updated(target, target)} and false`
    : `${target} as changed where false`;
  const trial = `select ${values} from ${rows}`;
  const made = `${schema}.${quote(name)}()`;
  const sql = `
create function ${made} returns trigger
language plpgsql security definer
set search_path = ${path}
set enable_nestloop = off
as ${DELIMITERS[0]}
begin
  insert into ${schema}.outbox (type, subject, owner_id, data)
  select ${values}
  from ${source[change]};
  if found then
    perform ${schema}.wake_relay();
  end if;
  return null;
end
${DELIMITERS[0]};
comment on function ${made} is ${literal(CAPTURE_MARK)};
revoke all on function ${made} from public;
create trigger ${quote(name)} after ${change} on ${target}
referencing ${REFERENCING[change]}
for each statement execute function ${made};
`;
  return { made, sql, trial };
}

function subjectOf({ subject, table, key }: CaptureOptions): string {
  if (subject !== undefined) return `(${subject})::pg_catalog.text`;
  const values = key.map((column) => `changed.${quote(column)}`).join(", ");
  return `pg_catalog.concat(${literal(`${table}:`)}, pg_catalog.concat_ws(',', ${values}))`;
}

function dataOf({ data, key, columns }: CaptureOptions): string {
  if (typeof data === "string") return `(${data})::pg_catalog.jsonb`;
  const members = [...new Set(data ?? [...key, ...columns])];
  return `pg_catalog.jsonb_build_object(${
    members.map((column) => `${literal(column)}, changed.${quote(column)}`).join(", ")
  })`;
}

function typesOf({ type }: CaptureOptions): Partial<Record<Change, string>> {
  const types = typeof type === "string" ? { insert: type, update: type, delete: type } : type;
  if (typeof types !== "object" || types === null || Object.keys(types).length === 0) {
    throw new InvalidOptionError("type", type, "an event type, or { insert?, update?, delete? }");
  }
  for (const [change, name] of Object.entries(types)) {
    if (!CHANGES.includes(change as Change)) {
      throw new InvalidOptionError("type of", change, CHANGES.join(", "));
    }
    if (!isEventTypeName(name)) {
      throw new InvalidOptionError(`type.${change}`, name, "an event type, such as order.placed");
    }
  }
  return types;
}

function checkNames(option: string, names: readonly string[]): void {
  if (!Array.isArray(names) || names.length === 0) {
    throw new InvalidOptionError(option, names, "at least one name");
  }
  for (const name of names) checkName(option, name);
  if (new Set(names).size < names.length) throw new InvalidOptionError(option, names, "each name once");
}

function checkName(option: string, name: string): void {
  checkIdentifier(option, name);
  checkDelimiter(option, name);
}

function checkText(option: string, text: unknown): void {
  if (text === undefined) return;
  if (typeof text !== "string" || text.trim() === "") {
    throw new InvalidOptionError(option, text, "a text of at least one character");
  }
  checkDelimiter(option, text);
}

function checkDelimiter(option: string, text: string): void {
  const delimiter = DELIMITERS.find((each) => text.includes(each));
  if (delimiter === undefined) return;
  throw new InvalidOptionError(
    option,
    text,
    `a text without ${delimiter}, which ends the SQL that it stands in`,
  );
}

function checkSearchPath(names: readonly string[]): void {
  if (!Array.isArray(names)) throw new InvalidOptionError("searchPath", names, "a list of schemas");
  if (names.length > 0) checkNames("searchPath", names);
  const own = names.find((name) => name.startsWith("pg_"));
  if (own === undefined) return;
  throw new InvalidOptionError("searchPath", own, "a schema of your own; pg_catalog always comes first");
}

/** Names differ for tables of one name in two schemas, and stay whole where the table's name is long. */
function nameOf(table: string, tableSchema: string, change: Change): string {
  const tail = `_${change}_${shortHash(`${tableSchema}\0${table}`)}`;
  let head = `capture_${table}`;
  while (new TextEncoder().encode(head + tail).length > IDENTIFIER_BYTES_MAX) {
    head = [...head].slice(0, -1).join("");
  }
  return head + tail;
}

/** FNV-1a, 32 bits: it only has to tell tables apart. */
function shortHash(text: string): string {
  let hash = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(text)) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  return hash.toString(16).padStart(8, "0");
}

/** Doubled backslashes would need another form; a text with one takes it. */
function literal(text: string): string {
  const doubled = text.replaceAll("'", "''");
  return text.includes("\\") ? `E'${doubled.replaceAll("\\", "\\\\")}'` : `'${doubled}'`;
}

function textArray(texts: readonly string[]): string {
  return `array[${texts.map(literal).join(", ")}]::pg_catalog.text[]`;
}
