import postgres from "postgres";

/** A connection of the test's own, as a user's program would have one. */
export function connectPostgres(url: string, max: number = 1): postgres.Sql {
  return postgres(url, { max, onnotice: () => {} });
}
