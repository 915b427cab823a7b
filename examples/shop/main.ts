/**
 * An application of several domains at work (`deno task example`): orders, mail, webhooks, the search index, the nightly
 * sweep, on an embedded PostgreSQL. It places three orders, one of them as another program would, and shows what followed.
 *
 * @module
 */
import { createRuntime } from "@millrace/millrace";
import { startEmbedded } from "@millrace/millrace/embedded";
import app from "./app.ts";
import { placeOrder } from "./orders.ts";
import { webhooks } from "./webhooks.ts";

const DEADLINE_MS = 60_000;

await using server = await startEmbedded({ ephemeral: true });
const heard: string[] = [];
await using receiver = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
  const { type, data } = await request.json();
  heard.push(`${type} of ${data.customer}, signed ${request.headers.has("webhook-signature")}`);
  return new Response(null, { status: 204 });
});

await using millrace = createRuntime({ url: server.url, ...app });
await millrace.migrate();
await millrace.start();
await webhooks.create({
  ownerId: null,
  url: `http://127.0.0.1:${receiver.addr.port}/in`,
  eventTypes: ["order.*"],
});

for (const customer of ["Ada", "Grace"]) await placeOrder(millrace.database, millrace.recorder, customer);
await millrace.database.query("insert into {schema}.shop_order (customer) values ('Edsger')");
const reconciled = await millrace.wait(await millrace.runPeriodic("mail.reconcile"), DEADLINE_MS);
const swept = await millrace.wait(await millrace.runPeriodic("nightly.sweep"), DEADLINE_MS);

const deadline = Date.now() + DEADLINE_MS;
const mails = () => millrace.list({ kind: "order.mail", state: "completed" });
const indexed = () => millrace.database.query("select words from {schema}.shop_index order by order_id");
while ((await mails()).length < 3 || (await indexed()).length < 2 || heard.length < 2) {
  if (Date.now() > deadline) throw new Error("The example's jobs did not end within a minute");
  await new Promise((resolve) => setTimeout(resolve, 50));
}

for (const { id } of (await mails()).reverse()) await say(`mail: ${(await millrace.get(id))!.output}`);
for (const line of heard.sort()) await say(`webhook: ${line}`);
await say(`search index: ${(await indexed()).map((row) => row.words).join(", ")}`);
await say(`reconciled: ${JSON.stringify(reconciled.done ? reconciled.output : null)}`);
await say(`nightly sweep: ${JSON.stringify(swept.done ? swept.output : null)}`);

async function say(line: string): Promise<void> {
  await Deno.stdout.write(new TextEncoder().encode(`${line}\n`));
}
