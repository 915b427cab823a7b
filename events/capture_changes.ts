import {
  checkIdentifier,
  checkKeys,
  InvalidOptionError,
  isEventTypeName,
  quoteIdentifier as quote,
} from "../ports/mod.ts";

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
/** What the text of the trigger's function stands between. */
const DELIMITER = "$capture$";
const OPTION_KEYS = ["table", "tableSchema", "key", "columns", "type", "subject", "data", "owner", "schema"];
const CHANGES = ["insert", "update", "delete"] as const;
type Change = typeof CHANGES[number];

/**
 * The SQL of triggers that record an event for every row that is inserted, deleted, or updated in a watched column, in the
 * writer's own transaction, whoever the writer is. One statement records all of its rows at once. A delete carries the
 * last values; an update that changes nothing that is watched records nothing. TRUNCATE is not captured.
 *
 * @throws {InvalidOptionError} an option is not as it should be.
 *
 * @example
 * ```ts
 * import { captureChanges } from "@millrace/millrace/events";
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
  checkKeys("a capture", options, OPTION_KEYS);
  const types = typesOf(options);
  for (const option of ["subject", "owner"] as const) checkText(option, options[option]);
  if (options.data !== undefined && !Array.isArray(options.data)) checkText("data", options.data);
  if (Array.isArray(options.data)) checkNames("data", options.data);
  const { table, key, columns, tableSchema = "public" } = options;
  checkName("table", table);
  checkName("tableSchema", tableSchema);
  checkName("schema", options.schema ?? SCHEMA_DEFAULT);
  checkNames("key", key);
  checkNames("columns", columns);
  const target = `${quote(tableSchema)}.${quote(table)}`;
  const schema = quote(options.schema ?? SCHEMA_DEFAULT);
  const names = new Map(CHANGES.map((change) => [change, nameOf(table, tableSchema, change)]));
  const drop = CHANGES.map((change) =>
    `drop trigger if exists ${quote(names.get(change)!)} on ${target};\n` +
    `drop function if exists ${schema}.${quote(names.get(change)!)}();\n`
  ).join("");
  const make = CHANGES.filter((change) => types[change] !== undefined).map((change) =>
    triggerSql({
      change,
      type: types[change]!,
      name: names.get(change)!,
      target,
      schema,
      tableSchema,
      options,
    })
  ).join("");
  return { up: drop + make, down: drop };
}

interface TriggerParts {
  readonly change: Change;
  readonly type: string;
  readonly name: string;
  readonly target: string;
  readonly schema: string;
  readonly tableSchema: string;
  readonly options: CaptureOptions;
}

const REFERENCING: Readonly<Record<Change, string>> = {
  insert: "new table as new_rows",
  update: "old table as old_rows new table as new_rows",
  delete: "old table as old_rows",
};

/**
 * Rows are compared as they are stored, which works for columns of every type, those without an equality included. Old
 * and new rows are joined by hash or merge: the plan is kept, and a nested loop that is right for one row would take
 * minutes for 10,000. The function runs with its owner's rights, for writers who know nothing of the outbox.
 */
function triggerSql({ change, type, name, target, schema, tableSchema, options }: TriggerParts): string {
  const { key, columns } = options;
  const image = (row: string) => `row(${columns.map((column) => `${row}.${quote(column)}`).join(", ")})`;
  const joined = key.map((column) => `before.${quote(column)} = changed.${quote(column)}`).join(" and ");
  const source: Readonly<Record<Change, string>> = {
    insert: "new_rows as changed",
    delete: "old_rows as changed",
    update: `new_rows as changed
  left join old_rows as before on ${joined}
  where before.${quote(key[0]!)} is null or record_image_ne(${image("before")}, ${image("changed")})`,
  };
  return `
create function ${schema}.${quote(name)}() returns trigger
language plpgsql security definer
set search_path = pg_catalog, ${quote(tableSchema)}, pg_temp
set enable_nestloop = off
as ${DELIMITER}
begin
  insert into ${schema}.outbox (type, subject, owner_id, data)
  select ${literal(type)}, ${subjectOf(options)}, ${options.owner ?? "null"}, ${dataOf(options)}
  from ${source[change]};
  if found then
    perform ${schema}.wake_relay();
  end if;
  return null;
end
${DELIMITER};
create trigger ${quote(name)} after ${change} on ${target}
referencing ${REFERENCING[change]}
for each statement execute function ${schema}.${quote(name)}();
`;
}

function subjectOf({ subject, table, key }: CaptureOptions): string {
  if (subject !== undefined) return `(${subject})::text`;
  const values = key.map((column) => `changed.${quote(column)}`).join(", ");
  return `${literal(`${table}:`)} || concat_ws(',', ${values})`;
}

function dataOf({ data, key, columns }: CaptureOptions): string {
  if (typeof data === "string") return `(${data})::jsonb`;
  const members = [...new Set(data ?? [...key, ...columns])];
  return `jsonb_build_object(${
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
    throw new InvalidOptionError(option, names, "at least one name of a column");
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
  if (!text.includes(DELIMITER)) return;
  throw new InvalidOptionError(
    option,
    text,
    `a text without ${DELIMITER}, which ends the trigger's function`,
  );
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
