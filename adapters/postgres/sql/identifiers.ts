import { createHash } from "node:crypto";
import { InvalidOptionError } from "../../../ports/errors.ts";
import { checkIdentifier, quoteIdentifier } from "../../../shared/identifier.ts";

/**
 * Checks a schema name. Any valid identifier is accepted, with quotes, capitals and spaces.
 *
 * @throws {InvalidOptionError} it is no identifier, holds what ends a text in our statements (`$body$`), or PostgreSQL keeps
 * it for itself: `information_schema` and what begins with `pg_`.
 */
export function checkSchemaName(name: string): void {
  checkIdentifier("schema", name);
  const refuse = (expected: string) => new InvalidOptionError("schema", name, expected);
  const delimiter = /\$(?:body|name|capture)\$/.exec(name)?.[0];
  if (delimiter !== undefined) throw refuse(`a name without ${delimiter}, which ends texts in statements`);
  if (name.startsWith("pg_")) {
    throw refuse("a name that does not begin with pg_, which PostgreSQL keeps for itself");
  }
  if (name === "information_schema") throw refuse("another name, PostgreSQL keeps this one for itself");
}

/**
 * The name of a schema's channel as PostgreSQL sees it: always 41 characters, because PostgreSQL refuses names above
 * 63 bytes and a schema name may have that many by itself.
 */
export function channelName(schema: string, channel: string): string {
  return `millrace_${digest(schema, channel).slice(0, 32)}`;
}

/** Puts a schema's names into a statement: `{schema}` its own, `{channel NAME}` one of its channels. */
export function substitute(text: string, schema: string): string {
  return text
    .replaceAll("{schema}", () => quoteIdentifier(schema))
    .replace(/\{channel (\w+)\}/g, (_, channel: string) => channelName(schema, channel));
}

/** The key of the advisory lock under which a schema is migrated, as a signed 64-bit integer in decimal. */
export function migrationLockKey(schema: string): string {
  return BigInt.asIntN(64, BigInt(`0x${digest(schema, "migrate").slice(0, 16)}`)).toString();
}

function digest(schema: string, name: string): string {
  return createHash("sha256").update(`${schema}\0${name}`).digest("hex");
}
