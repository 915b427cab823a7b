import { errorText } from "./error_text.ts";
import { show } from "./show.ts";

/**
 * Describes and checks a kind's args: a schema from any library that implements version 1 of the Standard Schema
 * interface, for example zod, valibot or arktype. It is structural, so Millrace depends on none of them.
 *
 * `Input` is the type that is enqueued and `Output` the type that a handler receives: a schema may fill in defaults or
 * convert values.
 */
export interface ArgsSchema<Input = unknown, Output = Input> {
  /** The interface, under the key that every library uses. */
  readonly "~standard": {
    /** The version of the interface. */
    readonly version: 1;
    /** The library's name. */
    readonly vendor: string;
    /** Checks a value. */
    readonly validate: (value: unknown) => ArgsVerdict<Output> | Promise<ArgsVerdict<Output>>;
    /** Only for the compiler; it may be absent at run time. */
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
  };
}

/** A schema's result for a value. */
export type ArgsVerdict<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | {
    readonly issues: readonly {
      readonly message: string;
      readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
    }[];
  };

/** The type enqueued under a schema. */
export type ArgsInput<Schema extends ArgsSchema> = NonNullable<Schema["~standard"]["types"]>["input"];

/** The type that a handler receives under a schema. */
export type ArgsOutput<Schema extends ArgsSchema> = NonNullable<Schema["~standard"]["types"]>["output"];

/** One fault in a job's args. */
export interface ArgsIssue {
  /** The path of the fault: `args.items[3].note`. */
  readonly path: string;
  /** The schema library's message, at most 200 characters. */
  readonly message: string;
}

/** The args of a job do not match its kind's schema. Nothing was sent to the database. */
export class InvalidArgsError extends TypeError {
  /** The name of the class. */
  override readonly name = "InvalidArgsError";
  /** The kind. */
  readonly kind: string;
  /** All issues. */
  readonly issues: readonly ArgsIssue[];

  /** Names the kind and the first ten issues. */
  constructor(kind: string, issues: readonly ArgsIssue[]) {
    const shown = issues.slice(0, ISSUES_SHOWN_MAX).map(({ path, message }) => `${path}: ${message}`);
    const more = issues.length - shown.length;
    super(
      `The args of a job of kind ${JSON.stringify(kind)} do not fit its schema: ` +
        shown.join("; ") + (more > 0 ? `; and ${more} more` : ""),
    );
    this.kind = kind;
    this.issues = issues;
  }
}

const ISSUES_SHOWN_MAX = 10;
const MESSAGE_LENGTH_MAX = 200;

/**
 * A kind's schema could not check the args: it threw, or returned what the interface does not permit. The args may be
 * valid. Nothing was sent.
 */
export class ArgsSchemaError extends Error {
  /** The name of the class. */
  override readonly name = "ArgsSchemaError";
  /** The kind. */
  readonly kind: string;

  /** Names the kind and what happened. What the schema threw is the cause. */
  constructor(kind: string, happened: string, options?: ErrorOptions) {
    super(
      `Cannot check the args of a job of kind ${
        JSON.stringify(kind)
      }: its schema ${happened}, expected { value } or ` +
        `{ issues } of it`,
      options,
    );
    this.kind = kind;
  }
}

/**
 * Checks the args of a job, and returns the schema's output, which a handler receives. The result is a promise only if
 * the schema's own check is one.
 *
 * @throws {InvalidArgsError} with every issue.
 * @throws {ArgsSchemaError} if the schema could not check the args.
 */
export function checkArgs<Output>(
  kind: string,
  schema: ArgsSchema<unknown, Output>,
  args: unknown,
): Output | Promise<Output> {
  let verdict: ArgsVerdict<Output> | Promise<ArgsVerdict<Output>>;
  try {
    verdict = schema["~standard"].validate(args ?? {});
  } catch (error) {
    throw threw(kind, error);
  }
  if (!(verdict instanceof Promise)) return valueOf(kind, verdict);
  return verdict.then((late) => valueOf(kind, late), (error) => {
    throw threw(kind, error);
  });
}

function threw(kind: string, error: unknown): ArgsSchemaError {
  return new ArgsSchemaError(kind, `threw: ${cut(errorText(error))}`, { cause: error });
}

function valueOf<Output>(kind: string, verdict: ArgsVerdict<Output>): Output {
  if (typeof verdict !== "object" || verdict === null) {
    throw new ArgsSchemaError(kind, `answered ${show(verdict)}`);
  }
  if (verdict.issues === undefined) return verdict.value;
  let issues: ArgsIssue[];
  try {
    issues = verdict.issues.map(({ path, message }) => ({
      path: pathOf(path ?? []),
      message: cut(String(message)),
    }));
  } catch (error) {
    throw new ArgsSchemaError(kind, "answered with issues that can't be read", { cause: error });
  }
  throw new InvalidArgsError(kind, issues);
}

function pathOf(path: readonly (PropertyKey | { readonly key: PropertyKey })[]): string {
  return path.reduce<string>((above, part) => {
    const key = typeof part === "object" ? part.key : part;
    if (typeof key === "number") return `${above}[${key}]`;
    const text = String(key);
    return /^[A-Za-z_$][\w$]*$/.test(text) ? `${above}.${text}` : `${above}[${JSON.stringify(text)}]`;
  }, "args");
}

function cut(message: string): string {
  return message.length <= MESSAGE_LENGTH_MAX
    ? message
    : `${message.slice(0, MESSAGE_LENGTH_MAX).toWellFormed()}...`;
}

/** A schema is an object, or a function with members. */
export function isArgsSchema(schema: unknown): boolean {
  if ((typeof schema !== "object" && typeof schema !== "function") || schema === null) return false;
  const standard: unknown = Reflect.get(schema, "~standard");
  return typeof standard === "object" && standard !== null && Reflect.get(standard, "version") === 1 &&
    typeof Reflect.get(standard, "validate") === "function";
}
