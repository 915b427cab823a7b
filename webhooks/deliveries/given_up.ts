import type { Database } from "../../ports/database.ts";
import type { Alert } from "../../ports/events.ts";

const COUNTED_MAX = 10_000;

/** What an endpoint was deleted with needs nobody any more. */
const GIVEN_UP = `
  select count(*)::int as count, (array_agg(endpoint_id::text order by seq desc))[1] as newest
  from (
    select delivery.seq, delivery.endpoint_id
    from {schema}.webhook_delivery as delivery
    join {schema}.webhook_endpoint as endpoint on endpoint.id = delivery.endpoint_id
    where delivery.given_up
    order by delivery.seq desc
    limit $1::int
  ) as given_up`;

/** Tells of deliveries that were given up without a person's doing. */
export async function givenUpAlerts(database: Database): Promise<Alert[]> {
  const [row] = await database.query(GIVEN_UP, [COUNTED_MAX]);
  const count = Number(row!.count);
  if (count === 0) return [];
  return [{
    name: "deliveries",
    value: count,
    bound: 0,
    message:
      `${count} webhook deliveries were given up, the newest to endpoint ${
        row!.newest
      }: see deliveries() for ` +
      `the reasons, then redeliver or skip them`,
  }];
}
