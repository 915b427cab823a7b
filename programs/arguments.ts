/** The command line can't be understood. */
export class UsageError extends Error {
  /** The name of the class. */
  override readonly name = "UsageError";
}

/** The arguments that a program's command line accepts. */
export interface ArgumentsShape {
  /** Options that take a value: `--queues a,b` or `--queues=a,b`. */
  readonly values?: readonly string[];
  /** Options that take no value. `help` is always one of them. */
  readonly flags?: readonly string[];
  /** The maximum number of other words. */
  readonly words: number;
}

/** A parsed command line. */
export interface Arguments {
  /** Values by option name, without the dashes. */
  readonly values: ReadonlyMap<string, string>;
  /** The flags given. */
  readonly flags: ReadonlySet<string>;
  /** The other words. */
  readonly words: readonly string[];
}

/**
 * Parses a command line. Everything after `--` is a word, even if it begins with a dash.
 *
 * @throws {UsageError} if an option is unknown, a value is missing or given twice, or there are too many words.
 */
export function parseArguments(args: readonly string[], shape: ArgumentsShape): Arguments {
  const known = { values: shape.values ?? [], flags: ["help", ...(shape.flags ?? [])] };
  const values = new Map<string, string>();
  const flags = new Set<string>();
  const words: string[] = [];
  for (let index = 0; index < args.length; index++) {
    const arg = args[index]!;
    if (arg === "--") {
      words.push(...args.slice(index + 1));
      break;
    }
    if (!arg.startsWith("-") || arg === "-") {
      words.push(arg);
      continue;
    }
    const [, name, inline] = /^--?([^=]*)(?:=(.*))?$/s.exec(arg)!;
    if (name === "h") flags.add("help");
    else if (known.flags.includes(name!) && inline === undefined) flags.add(name!);
    else if (known.values.includes(name!)) {
      const value = inline ?? args[++index];
      // Otherwise `--schema --print-sql` would migrate a schema named `--print-sql`. With = any value can be given.
      if (value === undefined || value === "" || inline === undefined && value.startsWith("--")) {
        throw new UsageError(`--${name} needs a value`);
      }
      if (values.has(name!)) throw new UsageError(`--${name} is given twice`);
      values.set(name!, value);
    } else {
      const options = [...known.values, ...known.flags].map((option) => `--${option}`).join(", ");
      throw new UsageError(`There is no option ${arg}: expected ${options}`);
    }
  }
  if (words.length > shape.words) {
    throw new UsageError(
      `Cannot use ${JSON.stringify(words[shape.words])}: expected at most ${shape.words} word(s)`,
    );
  }
  return { values, flags, words };
}

/**
 * Reads an integer of 0 or more from an option: digits only.
 *
 * @throws {UsageError} if it is not one, or out of range.
 */
export function integerOption(
  given: Arguments,
  name: string,
  min: number,
  max: number,
): number | undefined {
  const text = given.values.get(name);
  if (text === undefined) return undefined;
  const value = Number(text);
  // Number() reads a blank as 0, so `--down " "` would remove all tables.
  if (!/^\d+$/.test(text) || value < min || value > max) {
    throw new UsageError(
      `Cannot use --${name} ${JSON.stringify(text)}: expected an integer from ${min} to ${max}`,
    );
  }
  return value;
}
