import type { Database } from "../../ports/database.ts";

/** Stands for the database where there is none: every use says so. */
export const noDatabase: Database = {
  get quotedSchema(): string {
    return refuse();
  },
  query: refuse,
  transaction: refuse,
  listen: refuse,
  notify: refuse,
  migrate: refuse,
  checkMigrated: refuse,
  migratedTo: refuse,
};

function refuse(): never {
  throw new TypeError(
    "Cannot use the database of the parts: a runtime in memory has none, test this on PostgreSQL",
  );
}
