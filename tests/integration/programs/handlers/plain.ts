import type { JobContext } from "../../../../ports/handler.ts";
import type { Json } from "../../../../ports/json.ts";
import { type Args, note } from "./journaled.ts";

/** Takes its time, writes down that it ran, and returns its process id. */
export default async function plain(args: Json, ctx: JobContext): Promise<Json> {
  const { ms } = args as unknown as Args;
  note(args, ctx, "start");
  if (ms !== undefined) await new Promise((resolve) => setTimeout(resolve, ms));
  note(args, ctx, "end");
  return Deno.pid;
}
