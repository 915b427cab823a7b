import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/**
 * Finds the configuration file that this program was started with, by Deno's own rule: upwards from the main module.
 * From the working directory where that finds none. Null when there is none, or when looking is not allowed.
 */
export function findConfigFile(): string | null {
  for (const start of [mainModuleDirectory(), workingDirectory()]) {
    for (let directory = start; directory !== null;) {
      for (const name of ["deno.json", "deno.jsonc"]) {
        const path = join(directory, name);
        if (isFile(path)) return path;
      }
      const parent = dirname(directory);
      directory = parent === directory ? null : parent;
    }
  }
  return null;
}

function mainModuleDirectory(): string | null {
  try {
    return Deno.mainModule.startsWith("file:") ? dirname(fileURLToPath(Deno.mainModule)) : null;
  } catch {
    return null;
  }
}

function workingDirectory(): string | null {
  try {
    return Deno.cwd();
  } catch {
    return null;
  }
}

function isFile(path: string): boolean {
  try {
    return Deno.statSync(path).isFile;
  } catch {
    return false;
  }
}
