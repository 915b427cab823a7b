import type { JobContext } from "../../../../ports/handler.ts";
import type { Json } from "../../../../ports/json.ts";
import { note } from "./journaled.ts";

/** Uses up all the memory that it can get. */
export default function hog(args: Json, ctx: JobContext): never {
  note(args, ctx, "start");
  const held: number[][] = [];
  for (;;) held.push(new Array(100_000).fill(held.length));
}
