import { checkSchemaName } from "../adapters/postgres/sql/identifiers.ts";
import { InvalidOptionError } from "../ports/errors.ts";
import { type Arguments, UsageError } from "./arguments.ts";

/**
 * Reads `--schema`.
 *
 * @throws {UsageError} if no schema can have that name, or PostgreSQL reserves it.
 */
export function schemaOption(given: Arguments): string | undefined {
  const schema = given.values.get("schema");
  if (schema === undefined) return undefined;
  try {
    checkSchemaName(schema);
  } catch (error) {
    if (!(error instanceof InvalidOptionError)) throw error;
    throw new UsageError(error.message.replace("schema", "--schema"));
  }
  return schema;
}
