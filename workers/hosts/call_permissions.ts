import { isAbsolute, relative, resolve, sep } from "node:path";
import type { Permissions } from "../../ports/permissions.ts";
import { checkOptions, type Option, type Options } from "../../shared/options.ts";

/** What a call asks for beside what its caller may do. */
export interface AskedPermissions {
  /** What the called module may do: what was asked for, without what the caller is denied. */
  readonly permissions: Permissions;
  /** What was asked for and goes beyond the caller, such as `net: example.com`. Empty when the call may be made. */
  readonly beyond: readonly string[];
}

const LISTS = ["read", "write", "net", "env", "run", "sys", "ffi", "import"] as const;
type List = (typeof LISTS)[number];

/** How many entries a list of a call may have, and how long each may be, in UTF-16 code units. */
const ENTRIES_MAX = 1000;
const ENTRY_LENGTH_MAX = 4096;

const TEXTS: Option = {
  expected: `a list of at most ${ENTRIES_MAX} texts`,
  accepts: (value) =>
    Array.isArray(value) && value.length <= ENTRIES_MAX &&
    value.every((entry) =>
      typeof entry === "string" && entry !== "" && entry.length <= ENTRY_LENGTH_MAX && !entry.includes("\0")
    ),
};
const TEXTS_OR_ALL: Option = {
  expected: `${TEXTS.expected} or true`,
  accepts: (value) => value === true || TEXTS.accepts(value),
};
/** What a call may ask for. */
const ASKED: Options<Omit<Permissions, "enqueue">> = {
  ...Object.fromEntries(LISTS.map((list) => [list, TEXTS_OR_ALL])) as Record<List, Option>,
  denyNet: TEXTS,
};

/**
 * Checks the permissions of a call against those of its caller. What can't be told to be within them counts as beyond.
 *
 * @param asked What the call asks for. It may come from a confined process, so nothing about it is taken for granted.
 * @param caller What the caller may do; undefined for everything.
 * @throws {InvalidOptionError} what is asked for are no permissions.
 */
export function callPermissions(asked: unknown, caller: Permissions | undefined): AskedPermissions {
  const checked = checkedPermissions(asked);
  if (caller === undefined) return { permissions: checked, beyond: [] };
  const beyond: string[] = [];
  for (const list of LISTS) {
    const wanted = checked[list];
    const held = caller[list];
    if (wanted === undefined || held === true) continue;
    if (wanted === true) {
      beyond.push(`${list}: everything`);
      continue;
    }
    for (const entry of wanted) {
      if (!(held ?? []).some((own) => covers(list, own, entry))) beyond.push(`${list}: ${entry}`);
    }
  }
  const denyNet = [...new Set([...(caller.denyNet ?? []), ...(checked.denyNet ?? [])])];
  return { permissions: { ...checked, ...(denyNet.length === 0 ? {} : { denyNet }) }, beyond };
}

/** Whether a path is the folder or in it, told by their names alone. */
export function isWithin(folder: string, path: string): boolean {
  const way = relative(resolve(folder), resolve(path));
  return way === "" || way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}

function covers(list: List, own: string, entry: string): boolean {
  if (own === entry) return true;
  switch (list) {
    case "read":
    case "write":
    case "ffi":
      return isWithin(own, entry);
    case "net":
    case "import":
      // A host without a port stands for all of its ports.
      return /^[A-Za-z0-9.-]+$/.test(own) &&
        entry.replace(/:[0-9]+$/, "").toLowerCase() === own.toLowerCase();
    default:
      return false;
  }
}

function checkedPermissions(asked: unknown): Permissions {
  if (asked === undefined || asked === null) return {};
  const given = asked as Partial<Record<keyof typeof ASKED, true | readonly string[]>>;
  checkOptions("the permissions of a call", given, ASKED, "permissions.");
  // As Deno reads them too: what is checked is what is given.
  const read = (key: string, entries: true | readonly string[]) =>
    entries === true
      ? true
      : key === "read" || key === "write"
      ? entries.map((entry) => resolve(entry))
      : [...entries];
  return Object.fromEntries(
    Object.entries(given).filter(([, entries]) => entries !== undefined).map((
      [key, entries],
    ) => [key, read(key, entries)]),
  );
}
