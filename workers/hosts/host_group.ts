import type { Permissions } from "../../ports/permissions.ts";
import type { HostProcess } from "./host_process.ts";

/**
 * Whose code a process runs. Two realms never share a process, whatever their permissions: what the code of one does to
 * the globals of its threads, the other never sees.
 */
export type Realm =
  /** The jobs of one kind. */
  | { readonly type: "kind"; readonly kind: string }
  /** Jobs of the kinds that share this process's threads, while they are to run alone. */
  | { readonly type: "threads" }
  /** Modules that the handler module of one kind calls. */
  | { readonly type: "calls"; readonly kind: string }
  /** Modules that the code of this process itself calls: functions, and parts such as the sender of webhooks. */
  | { readonly type: "own" };

/** What decides which process an attempt or a call runs in. */
export interface Confinement {
  /** Whose code it is. */
  readonly realm: Realm;
  /** What the process may do; everything when absent. */
  readonly permissions?: Permissions;
  /** Above how many bytes it is killed; one attempt at a time then. */
  readonly memory?: number;
  /** It may have killed a process: nothing runs beside it, and before it in its process only attempts of this sort. */
  readonly alone?: boolean;
  /** The code that it may read where it may not read everything. */
  readonly code: ReadableCode;
}

/** Which code a process may read and import. */
export interface ReadableCode {
  /** Modules with all that they import. */
  readonly modules: readonly string[];
  /** Files beside these. */
  readonly paths?: readonly string[];
  /** Remote hosts beside these. */
  readonly hosts?: readonly string[];
}

/** Where processes are counted against a bound of their own. What waits in one line never holds up another. */
export type Line =
  /** Attempts that share a process. */
  | "shared"
  /** Attempts with a process each. */
  | "single"
  /** Calls of handler modules. */
  | "calls"
  /** Calls of this process's own code. */
  | "own";

/** Processes that are alike. It lasts as long as it has one. */
export interface Group {
  /** What tells it from others. */
  readonly name: string;
  /** What its processes may do, and for whom. */
  readonly confinement: Confinement;
  /** Where they are counted. */
  readonly line: Line;
  /** Whether each has one attempt at a time. */
  readonly single: boolean;
  /** The processes. */
  readonly hosts: Set<HostProcess>;
}

/** A group without a process. */
export function newGroup(confinement: Confinement): Group {
  const { realm, permissions, memory, alone, code } = confinement;
  const single = alone === true || memory !== undefined;
  const isCall = realm.type === "calls" || realm.type === "own";
  return {
    name: JSON.stringify([realm, permissions ?? null, memory ?? null, alone === true, code]),
    confinement,
    line: isCall ? realm.type : single ? "single" : "shared",
    single,
    hosts: new Set(),
  };
}

/** The realm in words, and as a name. */
export function realmName(realm: Realm): string {
  return "kind" in realm ? `${realm.type} ${realm.kind}` : realm.type;
}
