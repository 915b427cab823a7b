/**
 * What our statements rely on, whatever the role, the database or the server has for a default. Sent when a session
 * begins. Read-write is never among it: where an operator says read-only, that holds.
 */
export const RELIED_ON: Readonly<Record<string, string>> = {
  // A unique enqueue or a claim outside of a transaction would fail for a conflict that READ COMMITTED waits out.
  default_transaction_isolation: "read committed",
  TimeZone: "UTC",
  DateStyle: "ISO, MDY",
  IntervalStyle: "postgres",
  // How the driver reads bytes and numbers, and how we write texts and lists.
  bytea_output: "hex",
  extra_float_digits: "1",
  standard_conforming_strings: "on",
  array_nulls: "on",
  // Sessions of a pool are idle on purpose.
  idle_session_timeout: "0",
  // A session whose client's host is gone ends within 1 min, not after the system's 2 h.
  tcp_keepalives_idle: "30",
  tcp_keepalives_interval: "10",
  tcp_keepalives_count: "3",
};

/** For how long the server lets a session do what, in ms; 0 is no bound. */
export interface Bounds {
  /** How long one statement may take. */
  readonly statementTimeoutMs: number;
  /** How long it may wait for one lock. */
  readonly lockTimeoutMs: number;
  /** How long a transaction may stand still between two statements. Then the server ends the session. */
  readonly idleTimeoutMs: number;
}

/** The defaults: for statements of people and of upkeep, and for the application's transactions. */
export const DEFAULT_BOUNDS: Bounds = {
  // A count or a list over some hundred million rows takes less; what takes longer is stuck.
  statementTimeoutMs: 60_000,
  // As long as a caller waits for a connection: whatever holds a row for longer may hold it for ever.
  lockTimeoutMs: 10_000,
  idleTimeoutMs: 60_000,
};

/**
 * Heartbeats, and what they carry. With the time in which the client waits for the server's answer that is 10 s: then
 * the next heartbeat goes over a new connection, before others take this process for dead at 15 s.
 */
export const PULSE_BOUNDS: Bounds = { statementTimeoutMs: 7000, lockTimeoutMs: 5000, idleTimeoutMs: 7000 };

/** The parameters of a session that has these bounds. */
export function boundParameters(bounds: Bounds): Readonly<Record<string, string>> {
  return {
    statement_timeout: String(bounds.statementTimeoutMs),
    lock_timeout: String(bounds.lockTimeoutMs),
    idle_in_transaction_session_timeout: String(bounds.idleTimeoutMs),
  };
}

/** The lesser of two bounds each; 0 is no bound. */
export function tighter(one: Bounds, other: Bounds): Bounds {
  const least = (a: number, b: number) => a === 0 ? b : b === 0 ? a : Math.min(a, b);
  return {
    statementTimeoutMs: least(one.statementTimeoutMs, other.statementTimeoutMs),
    lockTimeoutMs: least(one.lockTimeoutMs, other.lockTimeoutMs),
    idleTimeoutMs: least(one.idleTimeoutMs, other.idleTimeoutMs),
  };
}

/**
 * For statements whose best plan depends on what the tables hold. A generic plan that was made while a table was empty
 * would be kept when it has a million rows.
 */
export const FRESH_PLANS: Readonly<Record<string, string>> = {
  plan_cache_mode: "force_custom_plan",
  jit: "off",
};

/**
 * For the statements of every job: claim, settle, insert. Each has one right plan, through an index and row by row, so
 * it is made once: planning a claim takes longer than claiming ten jobs. The other ways are switched off, for
 * statistics that were gathered while the queue was empty make them look cheap.
 */
export const STEADY_PLANS: Readonly<Record<string, string>> = {
  plan_cache_mode: "force_generic_plan",
  enable_seqscan: "off",
  enable_bitmapscan: "off",
  enable_hashjoin: "off",
  enable_mergejoin: "off",
  enable_sort: "off",
  jit: "off",
};

/**
 * For heartbeats and the marks of starts and of who is awake: what these say matters while the database lives. They need not wait for
 * the disk, and when the database itself crashes they are written anew or matter no more.
 */
export const LIGHT_WRITES: Readonly<Record<string, string>> = { ...FRESH_PLANS, synchronous_commit: "off" };
