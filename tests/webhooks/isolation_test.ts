import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { InvalidOptionError } from "../../mod.ts";
import { Webhooks } from "../../webhooks/mod.ts";
import { descendants } from "../programs/program.ts";
import { Receiver } from "./support/receiver.ts";
import { Site } from "./support/site.ts";

/** All that a process needs which starts no other. */
const NO_RUN = ["--no-prompt", "--allow-net", "--allow-env", "--allow-read"];

async function delivered(site: Site): Promise<void> {
  await using receiver = new Receiver();
  const { id } = await site.endpoint(receiver.url);
  await site.record({});
  await site.untilState(id, "delivered");
  // The guard is the same one: what it does not let through is not sent in place either.
  receiver.answer = () => new Response("unread", { status: 500 });
  await site.sql.unsafe(
    `update ${site.schema}.webhook_endpoint set url = replace(url, '127.0.0.1', '127.0.0.2')`,
  );
  await site.record({});
  const refused = (await site.untilState(id, "discarded")).at(-1);
  assertStringIncludes(refused!.reason!, "the URL is refused");
  assertEquals(receiver.got.length, 1);
}

Deno.test("where no process can be started, webhooks are sent in place, and that is said once, at the start", async () => {
  await using site = await Site.prepare();
  const worker = site.worker({}, NO_RUN);
  const line = await worker.event(
    "webhooks are sent from this process itself: the guard of addresses is the only wall",
  );
  assertEquals([line.level, line.isolation], ["warn", "none"]);
  assertStringIncludes(String(line.reason), "run access");
  await worker.event("started");
  await delivered(site);
  assertEquals(await descendants(worker.pid), []);
  assertEquals(worker.log.filter(({ isolation }) => isolation !== undefined).length, 1);
  // No connection that is kept for the next delivery holds up the end.
  worker.signal("SIGTERM");
  assertEquals((await worker.end()).code, 0, worker.stderr);
});

Deno.test("a process that is demanded and can't be started is a fault of the composition", async () => {
  await using site = await Site.prepare();
  const worker = site.worker({ isolation: "process" }, NO_RUN);
  const { error } = await worker.event("not started");
  for (const part of ["CompositionError", 'isolation is "process"', "run access", "--allow-run", '"none"']) {
    assertStringIncludes(String(error), part);
  }
  assertEquals(worker.log.filter(({ event }) => event === "started"), []);
  assertEquals((await worker.end()).code, 0, worker.stderr);
});

Deno.test("webhooks are sent in a process by default, and in place where that is asked for", async () => {
  for (const isolation of ["process", "none"] as const) {
    await using site = await Site.open(isolation === "process" ? {} : { isolation });
    const said = site.main.lines.filter((line) => line.includes(`"isolation"`));
    assertEquals(said.length, 1, said.join());
    assertEquals([JSON.parse(said[0]!).level, JSON.parse(said[0]!).isolation], ["info", isolation]);
    await delivered(site);
    assertEquals(site.main.runtime.stats().hosts, isolation === "process" ? 1 : 0);
  }
});

Deno.test("in place, a permission that this process lacks is a fault of ours and discards nothing", async () => {
  await using site = await Site.prepare({ settings: { probeMs: 100 } });
  const { hostname, port } = new URL(site.url);
  const net = `--allow-net=${hostname}:${port || 5432}`;
  const worker = site.worker({}, ["--no-prompt", net, "--allow-env", "--allow-read"]);
  await worker.event("started");
  await using receiver = new Receiver();
  const { id } = await site.endpoint(receiver.url);
  await site.record({});
  const told = "a webhook could not be sent, for which its endpoint is not to blame; it is tried again";
  assertStringIncludes(String((await worker.event(told)).error), "--allow-net");
  worker.signal("SIGTERM");
  await worker.end();
  const [delivery] = await site.untilState(id, "waiting");
  assert(delivery!.log.length > 0);
  site.worker();
  await site.untilState(id, "delivered");
  assertEquals((await site.main.webhooks.get(id)).failingSince, null);
});

Deno.test("an isolation that is none is refused", () => {
  const options = { isolation: "thread" } as unknown as { isolation: "none" };
  assertThrows(
    () => new Webhooks(options),
    InvalidOptionError,
    'isolation "thread": expected "process" or "none"',
  );
});
