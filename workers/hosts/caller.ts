import type { Permissions } from "../../ports/permissions.ts";

/** Who calls a module. */
export interface Caller {
  /** The kind whose handler module calls; null for code of this process: a function, or a part. */
  readonly kind: string | null;
  /** Its module; null for code of this process. */
  readonly module: string | null;
  /** What it may do; everything when undefined. */
  readonly permissions: Permissions | undefined;
}
