import type { TxParam } from "../../../ports/tx.ts";
import { arrayLiteral } from "../sql/sql_text.ts";
import type { Statements } from "../sql/statements.ts";
import { readySignal } from "./signals.ts";

/** Over which time claims are counted, in ms. */
const WINDOW_MS = 250;

/** From so many jobs a second on, claims without wake-ups cost less than the wake-ups. */
const BUSY_JOBS = 500;

/** Or from so many claims a second on, if all of them were filled: there is more to claim, whoever wakes. */
const BUSY_CLAIMS = 12;

/** How often a mark is renewed, and how long it holds without that, in ms. A process that dies leaves it for so long. */
const RENEW_MS = 500;
const VALID_MS = 900;

/** The longest pause of a marked process between two claims, in ms. */
export const AWAKE_PAUSE_MS = 5;

/** After a claim of so many jobs the next one is made at once: small batches keep each other small, and quick. */
const AT_ONCE_JOBS = 20;

/** How often a marked process that claims more than it can begin wakes the others, which may have room, in ms. */
const HELP_MS = 100;

/** The first claim after a mark was withdrawn, in ms, and for how long there are others, each after twice the pause. */
const AFTERMATH_MS = 25;
const AFTERMATH_MS_MAX = 1000;

/** Of a process on the record alone: a late one of another would stay for ever. */
const MARK = `
  insert into {schema}.awake (queue, owner, until)
  select $1::text, id, clock_timestamp() + $3::int * interval '1 ms'
  from {schema}.worker
  where id = $2::text::uuid
  for key share
  on conflict (queue, owner) do update set until = excluded.until`;

const HELP = "select pg_notify($1::text, $2::text)::text";

const WITHDRAW = "delete from {schema}.awake where owner = $1::text::uuid and queue = any($2::text::text[])";

/** What was claimed from one queue lately. */
interface Activity {
  windowAt: number;
  claims: number;
  filled: number;
  jobs: number;
  markedAt: number | null;
  withdrawnAt: number | null;
  helpAt: number;
  lastJobs: number;
}

/** What a claim brought. */
export interface ClaimResult {
  /** How many jobs. */
  readonly jobs: number;
  /** How many it asked for. */
  readonly limit: number;
  /** How many of them begin at once. */
  readonly free: number;
}

/**
 * The marks that tell enqueuers that a queue is being claimed from without a pause, so that they need to wake nobody:
 * a notification inside every business transaction costs a third to a half of their rate.
 *
 *     idle -- 500 jobs a second --> marked, claims every 5 ms -- fewer --> aftermath -- claims at growing pauses --> idle
 *
 * While marked it wakes others for itself when it claims more than it can begin. The aftermath is for transactions that
 * saw the mark and commit later: one that stays open for as long again as the mark has been gone is found by then, at the
 * latest by a poll.
 */
export class AwakeMarks {
  readonly #database: Statements;
  readonly #channel: string;
  readonly #activities: Map<string, Activity> = new Map();

  /** Has no marks yet. `channel` wakes the other processes. */
  constructor(database: Statements, channel: string) {
    this.#database = database;
    this.#channel = channel;
  }

  /**
   * Notes what a claim brought, renews or withdraws the mark as is due, and calls for help. True: it was withdrawn, claim
   * once more. Waits for nothing but that, and does not fail: whoever calls has jobs in hand.
   */
  async note(queue: string, owner: string, { jobs, limit, free }: ClaimResult): Promise<boolean> {
    const activity = this.#activityOf(queue);
    const isFilled = jobs >= limit;
    activity.claims++;
    activity.jobs += jobs;
    activity.lastJobs = jobs;
    if (isFilled) activity.filled++;
    const now = performance.now();
    if (now - activity.windowAt >= WINDOW_MS) {
      const isBusy = wasBusy(activity, now);
      Object.assign(activity, { windowAt: now, claims: 0, filled: 0, jobs: 0 });
      if (activity.markedAt !== null && !isBusy) {
        activity.markedAt = null;
        activity.withdrawnAt = now;
        await this.#try(WITHDRAW, [owner, arrayLiteral([queue])]);
        return true;
      }
      if (!isBusy) return false;
      activity.markedAt ??= -Infinity;
    }
    if (activity.markedAt === null) return false;
    if (now - activity.markedAt >= RENEW_MS) {
      activity.markedAt = now;
      activity.withdrawnAt = null;
      this.#try(MARK, [queue, owner, VALID_MS]);
    }
    if ((isFilled || jobs > free) && now >= activity.helpAt) {
      activity.helpAt = now + HELP_MS;
      this.#try(HELP, [this.#channel, readySignal(queue)]);
    }
    return false;
  }

  /** In how many ms the queue must be claimed from because somebody may have relied on a mark; null when nobody has. */
  pauseMs(queue: string): number | null {
    const { markedAt = null, withdrawnAt = null, lastJobs = 0 } = this.#activities.get(queue) ?? {};
    if (markedAt !== null) return lastJobs < AT_ONCE_JOBS ? AWAKE_PAUSE_MS : 0;
    if (withdrawnAt === null) return null;
    const goneMs = performance.now() - withdrawnAt;
    return goneMs < AFTERMATH_MS_MAX ? Math.max(goneMs, AFTERMATH_MS) : null;
  }

  /** Withdraws all marks of this process. */
  async withdrawAll(owner: string): Promise<void> {
    const marked = [...this.#activities].filter(([, { markedAt }]) => markedAt !== null);
    this.#activities.clear();
    if (marked.length === 0) return;
    await this.#database.query(WITHDRAW, [owner, arrayLiteral(marked.map(([queue]) => queue))]);
  }

  /** A mark that was not made silences nobody, and one that was not withdrawn runs out: the claims themselves go on. */
  async #try(text: string, params: TxParam[]): Promise<void> {
    try {
      await this.#database.query(text, params);
    } catch {
      // The claims tell of a database that is not well.
    }
  }

  #activityOf(queue: string): Activity {
    let activity = this.#activities.get(queue);
    if (activity === undefined) {
      activity = {
        windowAt: performance.now(),
        claims: 0,
        filled: 0,
        jobs: 0,
        markedAt: null,
        withdrawnAt: null,
        helpAt: 0,
        lastJobs: 0,
      };
      this.#activities.set(queue, activity);
    }
    return activity;
  }
}

function wasBusy({ windowAt, claims, filled, jobs }: Activity, now: number): boolean {
  const seconds = (now - windowAt) / 1000;
  return jobs >= BUSY_JOBS * seconds || (claims === filled && claims >= BUSY_CLAIMS * seconds);
}
