const SHOWN_LENGTH_MAX = 200;

/** A value in a message: short, and never an error of its own, for it is what somebody got wrong. */
export function show(value: unknown): string {
  const text = textOf(value);
  return text.length <= SHOWN_LENGTH_MAX ? text : `${text.slice(0, SHOWN_LENGTH_MAX).toWellFormed()}...`;
}

function textOf(value: unknown): string {
  try {
    if (typeof value === "bigint") return `${value}n`;
    if (typeof value === "function") return value.name === "" ? "a function" : `the function ${value.name}`;
    if (value instanceof Date && Number.isNaN(value.getTime())) return "Invalid Date";
    if (typeof value === "number" || typeof value === "symbol") return String(value);
    return JSON.stringify(value) ?? String(value);
  } catch {
    // It contains itself, or throws when it is read.
    return Array.isArray(value) ? "a list that can't be shown" : "an object that can't be shown";
  }
}
