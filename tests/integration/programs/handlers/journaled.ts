/** What the handlers of the integration tests share: their args, and the journal that they write. */
import type { JobContext } from "../../../../ports/handler.ts";
import type { Json } from "../../../../ports/json.ts";

/** What every handler here is told. */
export interface Args {
  /** The journal's path. */
  readonly journal: string;
  /** A file that it waits for. */
  readonly gate?: string;
  /** Goes on waiting when its signal aborts. */
  readonly deaf?: boolean;
  /** What the test calls the job. */
  readonly mark?: string;
  /** How long it takes, in ms. */
  readonly ms?: number;
}

/** Writes an entry. One short append is one write, so the lines of several processes never mix. */
export function note(args: Json, ctx: JobContext, event: "start" | "end"): void {
  const { journal, mark } = args as unknown as Args;
  const { id, attempt } = ctx;
  const entry = { event, id, attempt, pid: Deno.pid, at: Date.now(), mark: mark ?? null };
  Deno.writeTextFileSync(journal, JSON.stringify(entry) + "\n", { append: true });
}
