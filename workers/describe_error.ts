import { ERROR_MESSAGE_LENGTH_MAX } from "../ports/limits.ts";

/** A thrown value as text that can be stored. */
export interface DescribedError {
  /** The message, at most 8,192 UTF-16 code units. */
  readonly message: string;
  /** The stack, cut the same way; absent where there is none. */
  readonly stack?: string;
}

/** Tells any thrown value as text: undefined, a string, an object whose getters throw. Never throws itself. */
export function describeError(thrown: unknown): DescribedError {
  if (typeof thrown !== "object" || thrown === null) {
    return { message: keepableText(typeof thrown === "string" ? thrown : `thrown: ${safeString(thrown)}`) };
  }
  const name = textOf(thrown, "name");
  const message = textOf(thrown, "message");
  const stack = textOf(thrown, "stack");
  const told = withCauseMessage(message ?? safeString(thrown), thrown);
  const named = name === undefined || name === "Error" || message === undefined ? told : `${name}: ${told}`;
  return {
    message: keepableText(named === "" ? "an error without a message" : named),
    ...(stack === undefined ? {} : { stack: keepableText(withCause(stack, thrown)) }),
  };
}

/** Cuts text to what is kept of an error, and replaces what jsonb can't hold: U+0000 and half surrogate pairs. */
export function keepableText(text: string): string {
  // deno-lint-ignore no-control-regex -- the colours that Deno puts into messages of its own
  let cut = text.includes("\x1b[") ? text.replaceAll(/\x1b\[[0-9;]*m/g, "") : text;
  if (cut.length > ERROR_MESSAGE_LENGTH_MAX) {
    cut = cut.slice(0, ERROR_MESSAGE_LENGTH_MAX);
    // A cut between the halves of a pair would leave one half at the end.
    const last = cut.charCodeAt(cut.length - 1);
    if (last >= 0xd800 && last <= 0xdbff) cut = cut.slice(0, -1);
  }
  return cut.toWellFormed().replaceAll("\0", "\ufffd");
}

/** `fetch failed` alone helps nobody at night; why it failed stands in its cause. */
function withCauseMessage(message: string, thrown: object): string {
  try {
    const cause = Reflect.get(thrown, "cause");
    const why = typeof cause === "object" && cause !== null ? textOf(cause, "message") : undefined;
    return why === undefined || why === "" || message.includes(why) ? message : `${message}: ${why}`;
  } catch {
    return message;
  }
}

function withCause(stack: string, thrown: object): string {
  try {
    const cause = Reflect.get(thrown, "cause");
    if (cause === undefined || cause === null) return stack;
    return `${stack}\nCaused by: ${
      (typeof cause === "object" && textOf(cause, "stack")) || safeString(cause)
    }`;
  } catch {
    return stack;
  }
}

function textOf(thrown: object, property: string): string | undefined {
  try {
    const value = Reflect.get(thrown, property);
    return typeof value === "string" ? value : undefined;
  } catch {
    return undefined;
  }
}

function safeString(value: unknown): string {
  try {
    if (typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype) {
      return JSON.stringify(value) ?? String(value);
    }
    return String(value);
  } catch {
    return "a value that can't be told as text";
  }
}
