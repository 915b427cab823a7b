import { errorText } from "./error_text.ts";
import { show } from "./show.ts";

/**
 * What describes and checks the args of a kind: a schema of any library that follows the Standard Schema interface,
 * version 1, such as zod, valibot or arktype. Structural, so no library is needed to know it.
 *
 * `Input` is what is enqueued, `Output` what a handler gets: a schema may fill in defaults or convert.
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
    /** For the compiler alone; there need be nothing at run time. */
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
  };
}

/** What a schema says of a value. */
export type ArgsVerdict<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | {
    readonly issues: readonly {
      readonly message: string;
      readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
    }[];
  };

/** What is enqueued under a schema. */
export type ArgsInput<Schema extends ArgsSchema> = NonNullable<Schema["~standard"]["types"]>["input"];

/** What a handler gets under a schema. */
export type ArgsOutput<Schema extends ArgsSchema> = NonNullable<Schema["~standard"]["types"]>["output"];

/** One thing that is wrong with args. */
export interface ArgsIssue {
  /** Where: `args.items[3].note`. */
  readonly path: string;
  /** What the schema's library says, at most 200 characters. */
  readonly message: string;
}

/** The args of a job do not fit its kind's schema. Nothing was sent to the database. */
export class InvalidArgsError extends TypeError {
  /** The name of the class. */
  override readonly name = "InvalidArgsError";
  /** The kind. */
  readonly kind: string;
  /** Everything that is wrong. */
  readonly issues: readonly ArgsIssue[];

  /** Names the kind and, of the issues, the first ten. */
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

/** A kind's schema could not check args: it threw, or answered what no schema may. The args may be fine. Nothing was sent. */
export class ArgsSchemaError extends Error {
  /** The name of the class. */
  override readonly name = "ArgsSchemaError";
  /** The kind. */
  readonly kind: string;

  /** Names the kind and what happened; what the schema threw is the cause. */
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
 * Checks what a handler would get, and returns it as the schema makes it. It is a promise only where the schema's own
 * check is one.
 *
 * @throws {InvalidArgsError} with every issue.
 * @throws {ArgsSchemaError} the schema could not check them.
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
