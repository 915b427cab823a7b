/** The parts of the statements, quoted and checked. */
export interface StatementParts {
  /** The table, quoted. */
  readonly table: string;
  /** Its name without the schema, quoted. */
  readonly name: string;
  /** The column for the job's id, quoted. */
  readonly jobColumn: string;
  /** The column's type, as SQL. */
  readonly jobType: string;
  /** Which rows should have a job. */
  readonly where: string;
  /** Which of the rows whose job has ended or is gone get a new one; null for none. */
  readonly rescueWhere: string | null;
}

/** The statements of one reconciliation. */
export interface Statements {
  /** $1 the place to begin at, $2 the limit. Returns the places of stranded rows. */
  readonly scanFrom: string;
  /** The same for rows before that place. */
  readonly scanBefore: string;
  /** $1, $2 a place. Returns the row, locked, if it is still stranded and nobody else holds it. */
  readonly take: string;
  /** $1, $2 a place, $3 the job's id. Returns a row if there was still one at the place. */
  readonly stamp: string;
}

/**
 * Writes the statements. They identify a row by its place (ctid), so the table needs no particular key. A row that was
 * changed in the meantime has a new place, and the next pass finds it.
 */
export function statementsOf(parts: StatementParts): Statements {
  const { table, name, jobColumn, jobType, where, rescueWhere } = parts;
  // A waiting or running job is in the table of live jobs; any other can never run again. The column is qualified by
  // its table, because otherwise a column that the jobs also have would be read as theirs.
  const stamped = `${name}.${jobColumn}::text`;
  const isDead = `not exists (
      select from {schema}.job as millrace_job
      where millrace_job.id = case when ${stamped} ~ '^[1-9][0-9]{0,17}$' then ${stamped}::bigint end
    )`;
  // Each condition ends with a line break: otherwise a comment in it would swallow what follows.
  const isStranded = `(${where}
    ) and (
    ${jobColumn} is null${rescueWhere === null ? "" : ` or ((${rescueWhere}\n) and ${isDead})`}
  )`;
  const scan = (side: string) => `
    select tableoid::text as part, ctid::text as place
    from ${table}
    where ctid ${side} $1::text::tid and ${isStranded}
    order by ctid
    limit $2::text::int`;
  return {
    scanFrom: scan(">="),
    scanBefore: scan("<"),
    take: `
      select *, ${jobColumn}::text as millrace_job_before
      from ${table}
      where tableoid = $1::text::oid and ctid = $2::text::tid and ${isStranded}
      for update skip locked`,
    stamp: `
      update ${table}
      set ${jobColumn} = $3::text::${jobType}
      where tableoid = $1::text::oid and ctid = $2::text::tid
      returning true as stamped`,
  };
}

/** $1 the table. Returns its number of pages, or that of its largest partition, and whether it exists. */
export const PAGES = `
  select
    greatest(self.relpages, 0, (
      select max(part.relpages)
      from pg_partition_tree(self.oid) as tree join pg_class as part on part.oid = tree.relid
    )) as pages
  from pg_class as self
  where self.oid = to_regclass($1::text) and self.relkind in ('r', 'p')`;

/**
 * $1 the table, $2 the column, unquoted. Returns its type without the length. A cast to a length would cut a value that
 * does not fit, where an assignment refuses it.
 */
export const COLUMN_TYPE = `
  select format_type(atttypid, null) as type
  from pg_attribute
  where attrelid = to_regclass($1::text) and attname = $2::text and attnum > 0 and not attisdropped`;
