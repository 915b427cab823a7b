import { type Arguments, UsageError } from "./arguments.ts";

/**
 * Returns the URL of an application's module. A path is relative to the working directory and is used as it is.
 *
 * @throws {UsageError} if it looks like a URL but is not a valid one.
 */
export function applicationUrl(specifier: string): URL {
  if (/^[a-z][a-z0-9+.-]+:/i.test(specifier)) {
    return URL.parse(specifier) ?? refuse(specifier, "a path or a URL");
  }
  const path = specifier.startsWith("/") ? specifier : `${Deno.cwd()}/${specifier}`;
  return new URL(`file://${encodeURI(path).replace(/[?#]/g, encodeURIComponent)}`);
}

/**
 * The `deno.json` or `deno.jsonc` by which an application resolves its imports: the nearest one in or above its folder,
 * as Deno itself would choose. Null when there is none.
 */
export function applicationConfig(specifier: string): string | null {
  const url = applicationUrl(specifier);
  if (url.protocol !== "file:") return null;
  for (let folder = new URL(".", url);;) {
    for (const name of ["deno.json", "deno.jsonc"]) {
      const path = pathOf(new URL(name, folder));
      if (isFile(path)) return path;
    }
    const parent = new URL("..", folder);
    if (parent.href === folder.href) return null;
    folder = parent;
  }
}

/**
 * The configuration named with `--config`, as an absolute path; otherwise the application's own.
 *
 * @throws {UsageError} if the named configuration is not a file.
 */
export function chosenConfig({ values, words }: Arguments): string | null {
  const given = values.get("config");
  if (given !== undefined) {
    const path = pathOf(applicationUrl(given));
    return isFile(path) ? path : refuse(given, "a file that is there");
  }
  return words[0] === undefined ? null : applicationConfig(words[0]);
}

function pathOf(url: URL): string {
  if (url.protocol !== "file:") refuse(url.href, "a file");
  try {
    return decodeURIComponent(url.pathname);
  } catch {
    return refuse(url.href, "a file whose name is encoded as UTF-8");
  }
}

function refuse(given: string, expected: string): never {
  throw new UsageError(`Cannot use ${JSON.stringify(given)}: expected ${expected}`);
}

function isFile(path: string): boolean {
  try {
    return Deno.statSync(path).isFile;
  } catch {
    return false;
  }
}
