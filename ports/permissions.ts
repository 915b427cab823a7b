/** Names what a host process may do. `true` means all of it, a list names what; what is absent is denied. */
export interface Permissions {
  /** Paths that may be read, beside the handler's own code. */
  readonly read?: true | readonly string[];
  /** Paths that may be written. */
  readonly write?: true | readonly string[];
  /** Hosts that may be reached: `host`, `host:port`. */
  readonly net?: true | readonly string[];
  /** Hosts and IPv4 ranges that may not be reached, checked on the resolved address. Beats `net`. */
  readonly denyNet?: readonly string[];
  /** Environment variables that may be read. */
  readonly env?: true | readonly string[];
  /** Programs that may be started. */
  readonly run?: true | readonly string[];
  /** System information that may be read. */
  readonly sys?: true | readonly string[];
  /** Native libraries that may be loaded. */
  readonly ffi?: true | readonly string[];
  /** Hosts that code may be imported from. */
  readonly import?: true | readonly string[];
  /** Kinds whose jobs its handler may enqueue through `ctx.jobs`. `true` is every kind, and `ctx.jobs.cancel()` too. */
  readonly enqueue?: true | readonly string[];
}
