import type { Parts, Registrar } from "@millrace/millrace";
import { FILE_QUEUE } from "./file_job.ts";

/** The name of the subscription, and so of its jobs' kind. */
export const TOTALS_KIND = "file.totals";

/** Keeps what each event says once, however often it comes: that is all that idempotent means. */
const KEEP = `
  insert into demo_total (event_id, extension, bytes)
  select
    $1::text::uuid,
    lower(coalesce(substring($2::text from '[^/](\\.[^./]{1,20})$'), 'none')),
    $3::text::bigint
  on conflict (event_id) do nothing`;

/** Who wants to know of files that were described. */
export function totals({ database }: Parts): Registrar {
  return {
    subscriptions: [{
      name: TOTALS_KIND,
      types: ["file.*"],
      queue: FILE_QUEUE,
      handler: async ({ event_id, data }) => {
        const { path, bytes } = data as { path: string; bytes: number };
        await database.query(KEEP, [event_id, path, String(bytes)]);
      },
    }],
  };
}
