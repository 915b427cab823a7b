import { InvalidOptionError, TooLargeError, UndeclaredEventTypeError } from "../ports/errors.ts";
import type { EventDraft, EventType } from "../ports/event.ts";
import { EVENT_DATA_BYTES_MAX, EVENT_TEXT_LENGTH_MAX } from "../ports/limits.ts";
import { toJsonText } from "../shared/json_text.ts";
import { checkOptions, type Options, UNCHECKED } from "../shared/options.ts";

/** An event to be written. All is checked already. */
export interface NewEvent {
  /** A declared type. */
  readonly type: string;
  /** What it is about. */
  readonly subject: string;
  /** To whom it belongs. */
  readonly ownerId: string | null;
  /** The data as JSON text. */
  readonly data: string;
}

const DRAFT: Options<EventDraft> = {
  type: UNCHECKED,
  subject: UNCHECKED,
  ownerId: UNCHECKED,
  data: UNCHECKED,
};

/**
 * Turns a draft into an event to be written. All that can be wrong with it is found here, before any SQL is sent.
 *
 * @throws as `Recorder.record` says.
 */
export function newEvent(types: ReadonlyMap<string, EventType>, draft: EventDraft): NewEvent {
  checkOptions("an event", draft, DRAFT);
  if (!types.has(draft.type)) throw new UndeclaredEventTypeError(draft.type, types.keys());
  return {
    type: draft.type,
    subject: checkedText("subject", draft.subject),
    ownerId: ownerOf(draft),
    data: toJsonText(draft.data ?? null, { name: "data", maxBytes: EVENT_DATA_BYTES_MAX }),
  };
}

/** The same for many. */
export function newEvents(types: ReadonlyMap<string, EventType>, drafts: readonly EventDraft[]): NewEvent[] {
  if (!Array.isArray(drafts)) {
    throw new InvalidOptionError("events", drafts, "a list of { type, subject, ... }");
  }
  return drafts.map((draft) => newEvent(types, draft));
}

/** One that was forgotten must not become nobody's: its own endpoints would never hear of it. */
function ownerOf(draft: EventDraft): string | null {
  if (draft.ownerId === null || !("ownerId" in draft)) return null;
  if (draft.ownerId !== undefined) return checkedText("ownerId", draft.ownerId);
  throw new InvalidOptionError("ownerId", undefined, "a text that is not empty, or null for nobody's event");
}

function checkedText(name: string, value: unknown): string {
  if (typeof value !== "string" || value === "") {
    throw new InvalidOptionError(name, value, "a text that is not empty");
  }
  if (value.length > EVENT_TEXT_LENGTH_MAX) {
    throw new TooLargeError(`the event's ${name}`, value.length, EVENT_TEXT_LENGTH_MAX, "characters");
  }
  // Refuses U+0000 and half a surrogate pair, with the name in the message.
  toJsonText(value, { name, maxBytes: EVENT_DATA_BYTES_MAX });
  return value;
}
