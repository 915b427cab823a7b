import { pathToFileURL } from "node:url";

/**
 * The full specifier of a handler module. URLs stay, paths count from the working directory, and a bare specifier goes
 * through the import map; one that the import map does not know is a path.
 */
export function moduleSpecifier(module: string | URL): string {
  if (module instanceof URL) return module.href;
  const isPath = /^(?:\.{1,2}[\\/]|\/|\\|[A-Za-z]:[\\/])/.test(module);
  if (!isPath) {
    if (URL.canParse(module)) return module;
    try {
      return import.meta.resolve(module);
    } catch {
      // Not in the import map.
    }
  }
  return pathToFileURL(module).href;
}
