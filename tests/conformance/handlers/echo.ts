import type { Json } from "../../../ports/json.ts";

/** Returns its args, so that the job's output is what the handler received. */
export default function echo(args: Json): Json {
  return args;
}
