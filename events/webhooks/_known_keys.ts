/** The first member of an object that nobody knows: a misspelt one must not be passed over in silence. Undefined when there is none. */
export function unknownKey(given: object, known: readonly string[]): string | undefined {
  return Object.keys(given).find((key) => !known.includes(key));
}
