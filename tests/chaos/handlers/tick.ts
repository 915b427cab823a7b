import type { JobContext } from "../../../ports/handler.ts";
import type { Json } from "../../../ports/json.ts";
import act from "./act.ts";

/** The handler of the periodics, whose args are empty. */
export default async function tick(_args: Json, ctx: JobContext): Promise<Json | void> {
  return await act({ tag: ctx.kind, ms: 100, steps: [{ do: "return" }] }, ctx);
}
