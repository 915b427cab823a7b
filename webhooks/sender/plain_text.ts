// deno-lint-ignore no-control-regex -- they are what is taken out
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/**
 * Text from a receiver as logs, terminals and pages may show it, at most `max` characters long. Every line break and tab
 * becomes a space; other control characters, and those that turn the direction of writing, become U+FFFD.
 */
export function plainText(text: string, max: number): string {
  return text.slice(0, max).replaceAll("\r\n", " ").replace(
    CONTROL,
    (character) => "\t\n\v\f\r\u0085\u2028\u2029".includes(character) ? " " : "\ufffd",
  ).toWellFormed();
}
