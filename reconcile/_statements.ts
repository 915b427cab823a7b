/** What the statements are made of, quoted and checked. */
export interface StatementParts {
  /** The table, quoted. */
  readonly table: string;
  /** Its name without a schema, quoted. */
  readonly name: string;
  /** The column of the job's id, quoted. */
  readonly jobColumn: string;
  /** The column's type, as SQL. */
  readonly jobType: string;
  /** Which rows should carry a job. */
  readonly where: string;
  /** Which of those whose job has ended or is gone are driven again; null for none. */
  readonly rescueWhere: string | null;
}

/** The statements of one reconciliation. */
export interface Statements {
  /** $1 the place to begin at, $2 how many: the places of rows that are stranded. */
  readonly scanFrom: string;
  /** The same for what lies before that place. */
  readonly scanBefore: string;
  /** $1, $2 a place: the row, locked, if it is still stranded and nobody else holds it. */
  readonly take: string;
  /** $1, $2 a place, $3 the job's id: a row when the place still had one. */
  readonly stamp: string;
}

/**
 * Writes the statements. A row is named by its place, so that the table needs no key of a certain shape: a row that was
 * changed meanwhile has another place, and is found by the next pass.
 */
export function statementsOf(parts: StatementParts): Statements {
  const { table, name, jobColumn, jobType, where, rescueWhere } = parts;
  // A job that waits or runs is in the table of the living; what is neither can never run again.
  // Named by the table, or a column that the jobs have too would be theirs.
  const stamped = `${name}.${jobColumn}::text`;
  const isDead = `not exists (
      select from {schema}.job as millrace_job
      where millrace_job.id = case when ${stamped} ~ '^[1-9][0-9]{0,17}$' then ${stamped}::bigint end
    )`;
  // The conditions end with their line: a comment in one would take what follows with it.
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

/** $1 the table: how many pages it has, or the largest of its partitions; and whether it is there. */
export const PAGES = `
  select
    greatest(self.relpages, 0, (
      select max(part.relpages)
      from pg_partition_tree(self.oid) as tree join pg_class as part on part.oid = tree.relid
    )) as pages
  from pg_class as self
  where self.oid = to_regclass($1::text) and self.relkind in ('r', 'p')`;

/**
 * $1 the table, $2 the column, not quoted: its type, without its length. A cast to a length would cut what does not fit,
 * where the assignment refuses it.
 */
export const COLUMN_TYPE = `
  select format_type(atttypid, null) as type
  from pg_attribute
  where attrelid = to_regclass($1::text) and attname = $2::text and attnum > 0 and not attisdropped`;
