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
