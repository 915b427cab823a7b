// deno-lint-ignore no-control-regex -- they are what is looked for
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/;

/** Whether a text holds what no log may. */
export function hasControlCharacter(text: string): boolean {
  return CONTROL.test(text);
}
