/** Strings whole, so that nothing in them is taken for a number; and numbers with zeros at the end of their fraction. */
const NUMBERS = String.raw`("(?:[^"\\]|\\.)*")|(\d\.\d*[1-9])0+(?!\d)|(\d)\.0+(?!\d)`;

/**
 * SQL of a job's unique key: the hash of what its rule names of the args, or of all of them where `by` is null. It is made of
 * jsonb's text, in which the order of keys is jsonb's own, and in the database, so that every producer that can write SQL
 * agrees. What JavaScript holds as one number is one here too: `9` and `9.0`. A job without args is one with empty args, for
 * its handler sees no difference. Args
 * that lack a member have no key: their program doesn't know the rule, or it would have refused them.
 */
export function keySql(args: string, by: string): string {
  return `(
      select sha256(convert_to(
        -- A fraction is rare, and looking for its zeros is dear.
        case when text like '%.%0%' then regexp_replace(text, '${NUMBERS}', '\\1\\2\\3', 'g') else text end,
        'UTF8'
      ))
      from (
        select case
            when ${by} is null then case ${args} when '{}' then 'null' else ${args} end
            else (
              select case
                when coalesce(bool_and(${args} #> string_to_array(path, '.') is not null), true)
                then coalesce(jsonb_agg(${args} #> string_to_array(path, '.') order by place), '[]')
              end
              from unnest(${by}) with ordinality as named (path, place)
            )
          end::text as text
        offset 0
      ) as keyed
    )`;
}
