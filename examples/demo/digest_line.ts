const ESCAPES: Readonly<Record<string, string>> = { "\\": "\\\\", "\n": "\\n", "\r": "\\r" };

/** A line as `sha256sum` prints it: a leading backslash says that the name is escaped. */
export function digestLine(sha256: string, path: string): string {
  const escaped = path.replace(/[\\\n\r]/g, (character) => ESCAPES[character]!);
  return `${escaped === path ? "" : "\\"}${sha256}  ${escaped}\n`;
}
