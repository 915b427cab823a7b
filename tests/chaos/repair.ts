import { JobNotFoundError, JobRunningError, UniqueConflictError } from "../../ports/errors.ts";
import type { PostgresRuntime } from "../../mod.ts";
import type { Webhooks } from "../../webhooks/mod.ts";
import type { GivenUpRow } from "./check/evidence.ts";
import { drain } from "./drain.ts";
import { EXPOSED } from "./events.ts";
import type { KeptEndpoint, WebhookKeeper } from "./webhook_keeper.ts";
import type { Tables } from "./tables.ts";
import type { WebhookTables } from "./webhook_tables.ts";

/** Ends the deliveries whose job has ended without them. */
const JOBLESS = "webhooks.jobless";
const WAIT_MS = 30_000;
/** Events that one replay brings are no further apart, in ms. */
const GAP_MS = 5000;

/** What is put right, and by whom. */
export interface Repair {
  readonly runtime: PostgresRuntime;
  readonly webhooks: Webhooks;
  readonly keeper: WebhookKeeper;
  readonly endpoints: readonly KeptEndpoint[];
  readonly tables: Tables;
  readonly webhookTables: WebhookTables;
  readonly say: (line: string) => void;
}

/**
 * Puts right what people have done to webhooks, as the documents tell them to: enable, redeliver what was discarded, and
 * replay what passed by. After it every endpoint has every event. Resolves to what had been given up before.
 */
export async function repair(options: Repair): Promise<readonly GivenUpRow[]> {
  const { runtime, webhooks, keeper, endpoints, tables, webhookTables, say } = options;
  await keeper.enableAll();
  const givenUp = await webhookTables.givenUp();
  await runtime.wait(await runtime.runPeriodic(JOBLESS), WAIT_MS);
  // The periodic leaves alone what was put in line a moment ago: its sender may be about to enqueue the job.
  for (const { job, reason } of await webhookTables.givenUp()) if (reason === null) await again(runtime, job);
  for (const { id } of endpoints) await webhooks.redeliver(id);
  await drain(() => tables.undone(), say);
  for (const [id, times] of await webhookTables.passedBy(EXPOSED)) {
    for (const { since, until } of windows(times)) await webhooks.replay(id, { since, until });
  }
  await drain(() => tables.left(), say);
  return givenUp;
}

/** Unless it does run, or another one does its work. */
async function again(runtime: PostgresRuntime, job: string): Promise<void> {
  try {
    await runtime.retry(job);
  } catch (error) {
    if (![JobNotFoundError, JobRunningError, UniqueConflictError].some((known) => error instanceof known)) {
      throw error;
    }
  }
}

/** The times, in their order, as few windows. */
function windows(times: readonly number[]): { since: Date; until: Date }[] {
  const found: { since: Date; until: Date }[] = [];
  for (const at of times) {
    const [since, until] = [new Date(Math.floor(at)), new Date(Math.floor(at) + 1)];
    const last = found.at(-1);
    if (last !== undefined && since.getTime() - last.until.getTime() < GAP_MS) last.until = until;
    else found.push({ since, until });
  }
  return found;
}
