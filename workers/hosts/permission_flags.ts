import { createHash } from "node:crypto";
import { InvalidOptionError } from "../../ports/errors.ts";
import type { Permissions } from "../../ports/permissions.ts";
import type { ModuleCode } from "./module_code.ts";

/** What a process needs beside its permissions. */
export interface Needs extends ModuleCode {
  /** Remote hosts that it may load code from as it runs, beside those of its own code, which is at hand. */
  readonly remote: readonly string[];
  /** Who shares what the Cache API stores; others never see it. */
  readonly storage: string;
}

/** A host that there is none of: with no list at all Deno lets well-known hosts in. */
const NO_HOST = "nowhere.invalid:1";

/**
 * The flags that give a process these permissions, what its own code needs, and no other. Without permissions it may do
 * everything: its handlers would run in a thread of a process that may. Without `import` it loads nothing over the
 * network, no package of npm either: a name asked for at a registry tells as much as a request.
 *
 * @throws {InvalidOptionError} an entry, or a path of the code, holds a comma.
 */
export function permissionFlags(permissions: Permissions | undefined, needs: Needs): string[] {
  if (permissions === undefined) return ["--allow-all"];
  const flags = ["--no-prompt"];
  const { read, env } = permissions;
  flags.push(...allow("read", read === true ? true : [...needs.paths, ...(read ?? [])]));
  flags.push(...allow("write", permissions.write));
  flags.push(...allow("net", permissions.net));
  if ((permissions.denyNet ?? []).length > 0) {
    flags.push(`--deny-net=${list("denyNet", permissions.denyNet!)}`);
  }
  flags.push(...allow("env", env));
  // Libraries read the environment as they load. What is not named reads as undefined instead of as an error.
  if (env !== true) flags.push("--ignore-env");
  flags.push(...allow("run", permissions.run));
  flags.push(...allow("sys", permissions.sys));
  flags.push(...allow("ffi", permissions.ffi));
  flags.push(...importFlags(permissions, needs));
  flags.push(`--location=https://${storageHost(needs.storage)}/`);
  return flags;
}

function importFlags({ import: allowed }: Permissions, { hosts, remote, hasPackages }: Needs): string[] {
  if (allowed === true) return allow("import", true);
  const asked = [...remote, ...(allowed ?? [])];
  const named = [...new Set([...hosts, ...asked])];
  const flags = allow("import", named.length === 0 ? [NO_HOST] : named);
  if (asked.length === 0) return [...flags, "--cached-only"];
  // Packages are not governed by the list of hosts.
  return hasPackages ? flags : [...flags, "--no-npm"];
}

/** A name of a host that nobody has, and only the same storage has. */
function storageHost(storage: string): string {
  const hex = createHash("sha256").update(storage).digest("hex").slice(0, 40);
  return `${hex}.invalid`;
}

/** What every process needs of the environment: where its files are, how it reaches a registry, its time zone. */
const ENV_NEEDED = [
  "PATH",
  "HOME",
  "DENO_DIR",
  "DENO_CERT",
  "DENO_TLS_CA_STORE",
  "DENO_NO_UPDATE_CHECK",
  "XDG_CACHE_HOME",
  "HTTP_PROXY",
  "HTTPS_PROXY",
  "NO_PROXY",
  "http_proxy",
  "https_proxy",
  "no_proxy",
  "NPM_CONFIG_REGISTRY",
  "JSR_URL",
  "LD_LIBRARY_PATH",
  "LANG",
  "LC_ALL",
  "TZ",
  "TMPDIR",
  "TEMP",
  "TMP",
  "SystemRoot",
  "LOCALAPPDATA",
  "USERPROFILE",
];

/** The environment of a process with these permissions: a variable that may not be read is not handed over at all. */
export function environment(
  permissions: Permissions | undefined,
  read: (name: string) => string | undefined,
): Record<string, string> | null {
  if (permissions === undefined || permissions.env === true) return null;
  const variables: Record<string, string> = {};
  for (const name of [...ENV_NEEDED, ...(permissions.env ?? [])]) {
    const value = read(name);
    if (value !== undefined) variables[name] = value;
  }
  return variables;
}

function allow(name: string, granted: true | readonly string[] | undefined): string[] {
  if (granted === true) return [`--allow-${name}`];
  return granted === undefined || granted.length === 0 ? [] : [`--allow-${name}=${list(name, granted)}`];
}

// Deno's flags separate entries by commas and have no way to write one.
function list(name: string, entries: readonly string[]): string {
  const bad = entries.find((entry) => entry.includes(",") || entry === "");
  if (bad === undefined) return entries.join(",");
  throw new InvalidOptionError(
    `the permission ${name}`,
    bad,
    "some text without a comma, which Deno's flags can't name",
  );
}
