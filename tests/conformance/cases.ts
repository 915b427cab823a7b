import type { Case } from "./case.ts";
import { attemptCases } from "./cases/attempts.ts";
import { cancelCases } from "./cases/cancel.ts";
import { ctxJobsCases } from "./cases/ctx_jobs.ts";
import { completeInCases } from "./cases/complete_in.ts";
import { crashCases } from "./cases/crash.ts";
import { declarationCases } from "./cases/declarations.ts";
import { edgeCases } from "./cases/edges.ts";
import { enqueueCases } from "./cases/enqueue.ts";
import { inspectCases } from "./cases/inspect.ts";
import { pauseCases } from "./cases/pause.ts";
import { periodicCases } from "./cases/periodics.ts";
import { propertyCases } from "./cases/properties.ts";
import { progressCases } from "./cases/progress.ts";
import { queueCases } from "./cases/queues.ts";
import { rescueCases } from "./cases/rescue.ts";
import { retentionCases } from "./cases/retention.ts";
import { retryCases } from "./cases/retry.ts";
import { runCases } from "./cases/runs.ts";
import { snoozeCases } from "./cases/snooze.ts";
import { stopCases } from "./cases/stop.ts";
import { timeoutCases } from "./cases/timeouts.ts";
import { transactionCases } from "./cases/transactions.ts";
import { twinCases } from "./cases/twins.ts";
import { uniqueCases } from "./cases/unique.ts";
import { upkeepCases } from "./cases/upkeep.ts";
import { waitCases } from "./cases/wait.ts";

/** What is stored, and who is notified of it. Here handlers only end jobs, and it doesn't matter where they run. */
export const recordCases: readonly Case[] = [
  ...declarationCases,
  ...transactionCases,
  ...uniqueCases,
  ...twinCases,
  ...runCases,
  ...waitCases,
  ...inspectCases,
  ...periodicCases,
  ...pauseCases,
  ...retentionCases,
  ...upkeepCases,
];

/** What handlers receive and do, how they are interrupted, and how many run alongside one another. */
export const handlerCases: readonly Case[] = [
  ...enqueueCases,
  ...edgeCases,
  ...attemptCases,
  ...snoozeCases,
  ...timeoutCases,
  ...crashCases,
  ...cancelCases,
  ...retryCases,
  ...completeInCases,
  ...ctxJobsCases,
  ...progressCases,
  ...queueCases,
  ...stopCases,
  ...rescueCases,
  ...propertyCases,
];

/** The whole contract, grouped by area. */
export const cases: readonly Case[] = [...recordCases, ...handlerCases];
