import { realpath } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import type { Permissions } from "../../ports/permissions.ts";
import { isWithin } from "./call_permissions.ts";
import type { ModuleCode } from "./module_code.ts";

/** A module that a confined caller may call. */
export interface CallableModule {
  /** The specifier as Deno reads it. */
  readonly specifier: string;
  /** The file that must be readable beside the caller's own code. */
  readonly paths: readonly string[];
  /** The host that must be importable beside those of the caller's own code. */
  readonly hosts: readonly string[];
}

/**
 * Says whether a caller with permissions of its own may call a module: a file of its own module graph, a file under what
 * it may read, or a module on a host that it may import from. Null for everything else: for files outside of these, and
 * for `data:`, `blob:`, `npm:`, `jsr:` and whatever else there is.
 *
 * @param module A full specifier, however it is spelt.
 * @param caller What the caller may do.
 * @param own The code of the caller's own module.
 */
export async function callableModule(
  module: string,
  caller: Permissions,
  own: ModuleCode,
): Promise<CallableModule | null> {
  if (!URL.canParse(module)) return null;
  const url = new URL(module);
  switch (url.protocol) {
    case "file:": {
      const path = filePath(url);
      if (path === null || !await mayRead(path, caller, own)) return null;
      return { specifier: url.href, paths: [path], hosts: [] };
    }
    case "http:":
    case "https:": {
      if (url.username !== "" || url.password !== "") return null;
      const port = url.port || (url.protocol === "https:" ? "443" : "80");
      const host = `${url.hostname}:${port}`;
      const allowed = caller.import;
      const may = allowed === true ||
        (allowed ?? []).some((entry) => entry === host || entry === url.hostname);
      return may ? { specifier: url.href, paths: [], hosts: [host] } : null;
    }
    default:
      return null;
  }
}

async function mayRead(path: string, caller: Permissions, own: ModuleCode): Promise<boolean> {
  if (own.paths.includes(path)) return true;
  if (caller.read === true) return true;
  const folders = (caller.read ?? []).filter((folder) => isWithin(folder, path));
  if (folders.length === 0) return false;
  // A link out of the folder leads to code that the caller was not given.
  const real = await realpath(path).catch(() => null);
  if (real === null) return false;
  const reals = await Promise.all(folders.map((folder) => realpath(folder).catch(() => null)));
  return reals.some((folder) => folder !== null && isWithin(folder, real));
}

function filePath(url: URL): string | null {
  try {
    return fileURLToPath(url);
  } catch {
    // It names another machine, or holds an encoded slash.
    return null;
  }
}
