import type { RecordedEvent } from "../../../ports/event.ts";
import type { JobContext } from "../../../ports/handler.ts";
import type { Json } from "../../../ports/json.ts";
import { note } from "../journal.ts";
import act from "./act.ts";

/** The handler of the subscribers: writes down which event it was given, and works as any other. */
export default async function hear(given: Json, ctx: JobContext): Promise<Json | void> {
  const { event_id: event, data } = given as RecordedEvent;
  const { tag, ms } = data as { readonly tag: string; readonly ms: number };
  note({ what: "heard", event, subscriber: ctx.kind, tag });
  return await act({ tag, ms, steps: [{ do: "return" }] }, ctx);
}
