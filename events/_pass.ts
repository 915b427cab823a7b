import { errorText } from "../ports/error_text.ts";
import type { Log } from "../ports/log.ts";
import { isBadValue, isOfTheMoment } from "../shared/outage.ts";
import {
  type Alone,
  type BatchContext,
  claimBatch,
  type ClaimedEvent,
  claimOne,
  fanOut,
  fanOutAlone,
  isFull,
} from "./_batch.ts";
import { type ClaimPosition, START } from "./_claim_position.ts";
import { noteFailure, retryMsMax } from "./_failures.ts";
import type { Turn } from "./_in_order.ts";
import type { EventSettings } from "./settings.ts";

/** What one pass over the outbox needs. */
export interface PassOptions extends BatchContext {
  /** Where the claim begins. */
  readonly position: ClaimPosition;
  /** Whose turn it is, while the order is wanted. */
  readonly turn: Turn;
  /** Times. */
  readonly settings: EventSettings;
  /** Whether the relay is ending: what is not begun is left. */
  readonly isStopping: () => boolean;
  /** For what goes wrong. */
  readonly log: Log;
}

/** What one pass found. */
export interface PassResult {
  /** How many events it claimed. */
  readonly claimed: number;
  /** Whether the batch was full, so that there may be more. */
  readonly isFull: boolean;
  /** Whether it looked from the start of the outbox. */
  readonly isLook: boolean;
  /** In how many ms an event that failed is tried again; null when none is. */
  readonly againMs: number | null;
}

/**
 * Fans out one batch. When it fails, its events are fanned out one by one, and to each subscriber by itself if need be, so
 * that a bad one holds up nobody else; one that has failed before is always fanned out by itself.
 *
 * @throws when the database is at fault, or nothing at all can be fanned out: then no event is to blame.
 */
export async function pass(options: PassOptions): Promise<PassResult> {
  const { database, position, turn, version } = options;
  const hint = position.next();
  let isLook = hint.isLook;
  let claimed: readonly ClaimedEvent[] = [];
  let alone: readonly ClaimedEvent[];
  let others = 0;
  let left = 0;
  try {
    await turn.transaction(database, async (tx, isInTurn) => {
      const began = performance.now();
      // In order means that what was committed late, and lies behind, goes first.
      isLook = hint.isLook || isInTurn;
      claimed = await claimBatch(tx, version, isLook ? START : hint.after, retryMsMax(options.settings));
      position.note(isLook, performance.now() - began, claimed.at(-1)?.seq);
      const batch = claimed.filter((event) => !isAlone(event));
      if (batch.length === 0) return;
      left = batch.length - await fanOut(tx, options, batch, await turn.wanted(tx, isInTurn));
    });
    alone = claimed.filter(isAlone);
    others = claimed.length - alone.length;
  } catch (error) {
    if (isOfTheMoment(error) || claimed.length === 0) throw error;
    options.log.debug("batch of events not fanned out, going one by one", { error: errorText(error) });
    alone = claimed;
    left = 0;
  }
  return {
    claimed: claimed.length - left,
    isFull: left > 0 || isFull(claimed),
    isLook,
    againMs: await oneByOne(options, alone, others),
  };
}

const NOT_MADE: Alone = { refusal: null, isAnyDone: false };

/** One that has failed before must not take others with it, and one that some have is not handed to them again. */
function isAlone({ failures, isPartial }: ClaimedEvent): boolean {
  return failures > 0 || isPartial;
}

/** Resolves to in how many ms the first that failed is tried again; null when none is. */
async function oneByOne(
  options: PassOptions,
  events: readonly ClaimedEvent[],
  others: number,
): Promise<number | null> {
  const { database, turn, version, settings, log } = options;
  const failed: { readonly event: ClaimedEvent; readonly error: unknown; readonly isAnyDone: boolean }[] = [];
  for (const { id } of events) {
    if (options.isStopping()) break;
    let event: ClaimedEvent | null = null;
    let made: Alone | null = null;
    try {
      await turn.transaction(database, async (tx, isInTurn) => {
        event = await claimOne(tx, version, id);
        if (event !== null) made = await fanOutAlone(tx, options, event, await turn.wanted(tx, isInTurn));
      });
    } catch (error) {
      if (isOfTheMoment(error) || event === null) throw error;
      failed.push({ event, error, isAnyDone: false });
      continue;
    }
    const { refusal, isAnyDone } = made ?? NOT_MADE;
    if (event !== null && refusal !== null) failed.push({ event, error: refusal, isAnyDone });
  }
  // Where nothing works it is hardly the events' fault.
  const isSystemic = events.length > 1 && failed.length === events.length && others === 0 &&
    !failed.some(({ isAnyDone }) => isAnyDone);
  const pauses: number[] = [];
  for (const { event, error } of failed) {
    if (isSystemic && !isBadValue(error)) continue;
    const againMs = await noteFailure(database, event, error, settings, log);
    if (againMs !== null) pauses.push(againMs);
  }
  const unblamed = isSystemic ? failed.find(({ error }) => !isBadValue(error)) : undefined;
  if (unblamed !== undefined) throw unblamed.error;
  return pauses.length === 0 ? null : Math.min(...pauses);
}
