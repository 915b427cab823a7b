import type { JobContext } from "../../../../ports/handler.ts";
import type { Json } from "../../../../ports/json.ts";
import { type Args, note } from "./journaled.ts";

const LOOK_MS = 20;

/** Waits for its gate; its signal ends it, unless it is deaf. Returns its process id. */
export default async function hold(args: Json, ctx: JobContext): Promise<Json> {
  const { gate, deaf } = args as unknown as Args;
  note(args, ctx, "start");
  while (!isOpen(gate!)) {
    if (deaf !== true) ctx.signal.throwIfAborted();
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
  note(args, ctx, "end");
  return Deno.pid;
}

function isOpen(gate: string): boolean {
  try {
    Deno.statSync(gate);
    return true;
  } catch {
    return false;
  }
}
