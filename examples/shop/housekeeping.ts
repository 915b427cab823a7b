import type { RegistrarInput } from "@millrace/millrace";

/** What is done at night. */
export const housekeeping: RegistrarInput = ({ database }) => ({
  periodics: [{
    name: "nightly.sweep",
    cron: "30 3 * * *",
    timezone: "Europe/Vienna",
    handler: async () => {
      const gone = await database.query(
        "delete from {schema}.shop_order where placed_at < now() - interval '10 years' returning id",
      );
      return { swept: gone.length };
    },
  }],
});
