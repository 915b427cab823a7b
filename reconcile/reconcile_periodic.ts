import type { Json } from "../ports/json.ts";
import type { Periodic, PeriodicCron, PeriodicEvery, PeriodicHandler } from "../ports/kind.ts";
import { checkSpec, type EnqueueForRow, reconcilePending, type ReconcileSpec } from "./reconcile_pending.ts";

/** A reconciliation and its schedule. */
export type ReconcilePeriodicSpec =
  & Omit<ReconcileSpec, "signal">
  & (PeriodicEvery | PeriodicCron)
  & Pick<PeriodicHandler, "maxAttempts" | "timeout" | "backoff" | "discardAlert">;

/**
 * Makes a periodic from {@linkcode reconcilePending}: each run is one pass, and its counts are the run's output. It
 * runs in the main thread, because it waits for the database and computes nothing.
 *
 * @throws what {@linkcode reconcilePending} throws, as far as it can be checked without a database.
 *
 * @example
 * ```ts
 * const orders: RegistrarInput = ({ database, jobs, log }) => ({
 *   kinds: [orderMail],
 *   periodics: [reconcilePeriodic(
 *     { name: "orders.reconcile", every: 60_000, database, log, table: "orders", jobColumn: "mail_job_id", where },
 *     (tx, row) => jobs.with(tx).enqueue("order.mail", { orderId: String(row.id) }),
 *   )],
 * });
 * ```
 */
export function reconcilePeriodic(spec: ReconcilePeriodicSpec, enqueue: EnqueueForRow): Periodic {
  const { database, table, jobColumn, where, batch, rescueDeadJobs, rescueWhere, log, ...periodic } = spec;
  const reconcile: ReconcileSpec = {
    database,
    table,
    jobColumn,
    where,
    ...(batch === undefined ? {} : { batch }),
    ...(rescueDeadJobs === undefined ? {} : { rescueDeadJobs }),
    ...(rescueWhere === undefined ? {} : { rescueWhere }),
  };
  checkSpec(reconcile, enqueue);
  return {
    ...periodic,
    handler: async (_args, ctx): Promise<Json> => ({
      ...await reconcilePending({ ...reconcile, log: log ?? ctx.log, signal: ctx.signal }, enqueue),
    }),
  };
}
