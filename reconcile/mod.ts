/**
 * Drives rows again that should carry a job and have none: written before Millrace was there, by a program that does not
 * know it, or left behind by a job that can never run again.
 *
 * @module
 */
export {
  type EnqueueForRow,
  type Reconciled,
  reconcilePending,
  type ReconcileSpec,
} from "./reconcile_pending.ts";
export { reconcilePeriodic, type ReconcilePeriodicSpec } from "./reconcile_periodic.ts";
