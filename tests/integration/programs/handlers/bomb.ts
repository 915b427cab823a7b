import type { JobContext } from "../../../../ports/handler.ts";
import type { Json } from "../../../../ports/json.ts";
import { note } from "./journaled.ts";

/** Ends its whole process, as the system does when memory runs out. */
export default function bomb(args: Json, ctx: JobContext): Promise<never> {
  note(args, ctx, "start");
  Deno.kill(Deno.pid, "SIGKILL");
  return new Promise(() => {});
}
