/** Prints whether a connection to the database of its argument is encrypted, or why there is none. */
import { PostgresDatabase } from "../connection/database.ts";

const database = PostgresDatabase.connect({ url: Deno.args[0]!, poolSize: 1, listen: "off" });
const text = await database.query("select ssl from pg_stat_ssl where pid = pg_backend_pid()").then(
  (rows) => `ssl ${rows[0]?.ssl}`,
  (error: Error) => `${error.name}: ${error.message}`,
);
await database.close();
await Deno.stdout.write(new TextEncoder().encode(text));
