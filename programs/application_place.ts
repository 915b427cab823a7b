import type { Arguments } from "./arguments.ts";

/** Where an application's module is, as a URL: a path is counted from the working directory, and taken as it is. */
export function applicationUrl(specifier: string): URL {
  if (/^[a-z][a-z0-9+.-]+:/i.test(specifier)) return new URL(specifier);
  const path = specifier.startsWith("/") ? specifier : `${Deno.cwd()}/${specifier}`;
  return new URL(`file://${encodeURI(path).replace(/[?#]/g, encodeURIComponent)}`);
}

/**
 * The `deno.json` or `deno.jsonc` by which an application resolves its imports: the nearest one at or above its
 * folder, as Deno itself would choose. Null when there is none.
 */
export function applicationConfig(specifier: string): string | null {
  const url = applicationUrl(specifier);
  if (url.protocol !== "file:") return null;
  for (let folder = new URL(".", url);;) {
    for (const name of ["deno.json", "deno.jsonc"]) {
      const path = decodeURIComponent(new URL(name, folder).pathname);
      if (isFile(path)) return path;
    }
    const parent = new URL("..", folder);
    if (parent.href === folder.href) return null;
    folder = parent;
  }
}

/** The configuration that a command line asks for with `--config`, as an absolute path; else the application's own. */
export function chosenConfig({ values, words }: Arguments): string | null {
  const given = values.get("config");
  if (given !== undefined) return decodeURIComponent(applicationUrl(given).pathname);
  return words[0] === undefined ? null : applicationConfig(words[0]);
}

function isFile(path: string): boolean {
  try {
    return Deno.statSync(path).isFile;
  } catch {
    return false;
  }
}
