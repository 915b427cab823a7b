import type { Json } from "../../../ports/json.ts";

/** Returns its args: what the handler received is then the job's output. */
export default function echo(args: Json): Json {
  return args;
}
