import type { JobContext } from "../../../../ports/handler.ts";
import type { Json } from "../../../../ports/json.ts";
import { type Args, note } from "./journaled.ts";

/** Takes its time, then fails. */
export default async function fail(args: Json, ctx: JobContext): Promise<never> {
  note(args, ctx, "start");
  await new Promise((resolve) => setTimeout(resolve, (args as unknown as Args).ms ?? 0));
  throw new Error("it failed, as it was told");
}
