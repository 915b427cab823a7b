import { reconcilePeriodic, type RecordedEvent, type RegistrarInput, typedJobs } from "@millrace/millrace";
import { orderMail } from "./order_mail.ts";

/** The mails: one for each order. Orders that another program wrote, without an event, get theirs by the reconciliation. */
export const mail: RegistrarInput = ({ database, jobs: untyped, log }) => {
  const jobs = typedJobs(untyped, [orderMail]);
  return {
    kinds: [orderMail],
    subscriptions: [{
      name: "mail.order_placed",
      types: ["order.placed"],
      queue: "inbound",
      handler: async ({ subject }: RecordedEvent) => {
        await database.transaction(async (tx) => {
          const [order] = await tx.unsafe(
            "select id, customer from {schema}.shop_order where id = $1::text::int and mail_job_id is null for update",
            [subject],
          );
          // A second run of this job finds the order stamped.
          if (order === undefined) return;
          const id = await jobs.with(tx).enqueue(orderMail, {
            id: Number(order.id),
            customer: String(order.customer),
          });
          await tx.unsafe(
            "update {schema}.shop_order set mail_job_id = $2::text::bigint where id = $1::text::int",
            [subject, id],
          );
        });
      },
    }],
    periodics: [reconcilePeriodic(
      {
        name: "mail.reconcile",
        every: 60_000,
        runAtStart: false,
        database,
        log,
        table: "millrace.shop_order",
        jobColumn: "mail_job_id",
        where: "placed_at > now() - interval '7 days'",
      },
      (tx, row) => jobs.with(tx).enqueue(orderMail, { id: Number(row.id), customer: String(row.customer) }),
    )],
  };
};
