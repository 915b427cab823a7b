import { ArgsSchemaError, InvalidArgsError } from "../ports/args_schema.ts";
import * as errors from "../ports/errors.ts";
import { Discard, Snooze } from "../ports/handler.ts";
import type { Json } from "../ports/json.ts";
import { MissingKeyMemberError } from "../ports/key_rule.ts";
import { keepableText } from "./describe_error.ts";

/** What a handler may look for with `instanceof`, by name. */
const KNOWN: Readonly<Record<string, unknown>> = {
  ...errors,
  ArgsSchemaError,
  Discard,
  InvalidArgsError,
  MissingKeyMemberError,
  Snooze,
};

// How an error is told over the borders of threads and processes, so that a handler can catch it by its class.

/** An error as JSON. What the driver below it said is no part of it but for its SQLSTATE. */
export function errorAsJson(error: unknown): Json {
  if (!(error instanceof Error)) return { message: keepableText(String(error)) };
  const sqlState = errors.sqlStateOf(error);
  return {
    name: error.name,
    message: keepableText(String(error.message)),
    ...(knownClass(error.name) === null ? {} : { fields: fieldsOf(error) }),
    ...(sqlState === null ? {} : { sqlState }),
  };
}

/** The error that {@linkcode errorAsJson} told of, of the ports' own class where it is one of theirs. */
export function errorFromJson(told: Json): Error {
  const { name, message, fields, sqlState } = told as Record<string, Json | undefined>;
  const known = typeof name === "string" ? knownClass(name) : null;
  const error: Error = known === null
    ? new Error(String(message))
    // By the class but without its constructor, which would make the message anew.
    : Reflect.construct(Error, [String(message)], known);
  if (typeof fields === "object" && fields !== null) Object.assign(error, fields);
  if (typeof name === "string") error.name = name;
  if (typeof sqlState === "string" && !("sqlState" in error)) Object.assign(error, { sqlState });
  return error;
}

/** Whether a told error is of a class of the ports. */
export function isKnownError(told: Json): boolean {
  const { name } = told as Record<string, Json | undefined>;
  return typeof name === "string" && knownClass(name) !== null;
}

function knownClass(name: string): (new () => Error) | null {
  const found: unknown = Object.hasOwn(KNOWN, name) ? KNOWN[name] : null;
  const isError = typeof found === "function" && found.prototype instanceof Error;
  return isError ? found as new () => Error : null;
}

/** The fields of an error of the ports: values of JSON, such as the names and numbers that its message is made of. */
function fieldsOf(error: Error): Json {
  const fields = Object.entries(error).filter(([key, value]) => key !== "name" && isJson(value));
  return JSON.parse(JSON.stringify(Object.fromEntries(fields)));
}

function isJson(value: unknown): boolean {
  if (value === null || ["string", "number", "boolean"].includes(typeof value)) return true;
  return Array.isArray(value);
}
