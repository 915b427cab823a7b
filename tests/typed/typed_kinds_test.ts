import { assert, assertEquals, assertRejects, assertStringIncludes, assertThrows } from "@std/assert";
import { createMemoryStore } from "../../adapters/memory/memory_store.ts";
import { createMemoryRuntime, defineKind, typedJobs } from "../../mod.ts";
import { InvalidArgsError } from "../../ports/args_schema.ts";
import { CompositionError, UndeclaredKindError } from "../../ports/errors.ts";
import type { Kind } from "../../ports/kind.ts";
import type { WorkingRuntime } from "../../runtime/runtime.ts";
import { arkMail, mailsNext, remind, sweep, valibotMail, zodMail } from "./kinds.ts";

const KINDS = [zodMail, valibotMail, arkMail, sweep, remind, mailsNext] as const;

async function withRuntime(body: (runtime: WorkingRuntime) => Promise<void>): Promise<void> {
  await using runtime = createMemoryRuntime({ registrars: [{ kinds: KINDS }] });
  await body(runtime);
}

async function outputOf(runtime: WorkingRuntime, id: string): Promise<unknown> {
  const result = await runtime.wait(id, 20_000);
  assert(result.done);
  assertEquals([result.state, result.error], ["completed", null]);
  return result.output;
}

for (const kind of [zodMail, valibotMail, arkMail]) {
  Deno.test(`${kind.name}: args that do not fit are refused at enqueue, with kind, path and message`, () =>
    withRuntime(async (runtime) => {
      const wrong = { orderId: 7, language: "de" };
      for (
        const enqueue of [
          () => runtime.enqueue(kind.name, wrong),
          () => runtime.enqueue(kind.name, wrong, { uniqueByArgs: true }),
          () => runtime.enqueueMany([{ kind: kind.name, args: wrong }]),
          () => typedJobs(runtime, KINDS).enqueue(kind, wrong as never),
        ]
      ) {
        const error = await assertRejects(enqueue, InvalidArgsError, `kind "${kind.name}"`);
        assertEquals([error.kind, error.issues.map(({ path }) => path)], [kind.name, ["args.orderId"]]);
        assertStringIncludes(error.message, "args.orderId: ");
      }
      await assertRejects(() => runtime.enqueue(kind.name), InvalidArgsError, "args");
      assertEquals(await runtime.list(), []);
    }));
}

Deno.test("a transaction enqueues typed jobs, and refuses wrong args without harm to it", async () => {
  const store = createMemoryStore();
  await using runtime = createMemoryRuntime({ store, registrars: [{ kinds: KINDS }] });
  const jobs = typedJobs(runtime, KINDS);
  const tx = store.begin();
  const id = await jobs.with(tx).enqueue("mail.zod", { orderId: "1" });
  await assertRejects(() => jobs.with(tx).enqueue(zodMail, {} as never), InvalidArgsError);
  await tx.commit();
  assertEquals((await runtime.list()).map((job) => job.id), [id]);
});

Deno.test("handlers get the args as the schema makes them, in threads and in the main thread", () =>
  withRuntime(async (runtime) => {
    const jobs = typedJobs(runtime, KINDS);
    await runtime.start();
    const ids = await jobs.enqueueMany([
      { kind: zodMail, args: { orderId: "1" } },
      { kind: "mail.valibot", args: { orderId: "2" } },
      { kind: arkMail, args: { orderId: "3", language: "de" } },
    ]);
    const stored = await Promise.all(ids.map(async (id) => (await runtime.get(id))!.args));
    assertEquals(stored, [{ orderId: "1" }, { orderId: "2" }, { orderId: "3", language: "de" }]);
    const outputs = await Promise.all(ids.map((id) => outputOf(runtime, id)));
    assertEquals(outputs, ["1 in en", "en", "de"]);
    assertEquals(await outputOf(runtime, await jobs.enqueue(sweep)), 30);
    const reminder = await jobs.enqueue(remind, { at: "2031-01-01T00:00:00Z", user: "ada" });
    assertEquals(await outputOf(runtime, reminder), 2031);
  }));

Deno.test("a handler enqueues typed jobs through its context", () =>
  withRuntime(async (runtime) => {
    await runtime.start();
    const next = await outputOf(runtime, await runtime.enqueue("mails.next", { orderId: "5" }));
    assertEquals(await outputOf(runtime, String(next)), "5 in en");
    assertEquals((await runtime.list({ kind: "mail.zod" })).length, 1);
  }));

Deno.test("a schema whose check is a promise refuses too", () =>
  withRuntime(async (runtime) => {
    const args = { at: "2031-01-01T00:00:00Z", user: "nobody" };
    const error = await assertRejects(() => runtime.enqueue("remind", args), InvalidArgsError);
    assertEquals(error.issues, [{ path: "args.user", message: "no such user" }]);
  }));

Deno.test("a row that an older program wrote is discarded at once, with the issues as the reason", async () => {
  const store = createMemoryStore();
  const older: Kind[] = [zodMail, valibotMail].map(({ args: _, ...kind }) => kind);
  await using old = createMemoryRuntime({ store, registrars: [{ kinds: older }] });
  await using runtime = createMemoryRuntime({ store, registrars: [{ kinds: KINDS }] });
  const ids = [await old.enqueue("mail.zod", { order: 1 }), await old.enqueue("mail.valibot", [])];
  await runtime.start();
  for (const id of ids) {
    const result = await runtime.wait(id, 20_000);
    assert(result.done);
    assertEquals(result.state, "discarded");
    assertStringIncludes(result.error!, "do not fit its schema: args");
    const job = (await runtime.get(id))!;
    assertEquals([job.attempt, job.errors.map((error) => error.class)], [1, ["discarded"]]);
  }
});

Deno.test("typedJobs() refuses a kind that is not among its own, also without the compiler", () =>
  withRuntime(async (runtime) => {
    const jobs = typedJobs(runtime, [sweep]);
    await assertRejects(() => jobs.enqueue("mail.zod" as "sweep"), UndeclaredKindError, '"sweep"');
  }));

Deno.test("InvalidArgsError shows ten issues and says how many more, each cut to 200 characters", () => {
  const issues = Array.from({ length: 12 }, (_, index) => ({ path: ["list", index, "a b"], message: "x" }));
  const args = { "~standard": { version: 1 as const, vendor: "test", validate: () => ({ issues }) } };
  const kind = defineKind({ ...sweep, name: "many", args, handler: () => {} });
  const runtime = createMemoryRuntime({ registrars: [{ kinds: [kind] }] });
  return assertRejects(() => runtime.enqueue("many"), InvalidArgsError).then((error) => {
    assertEquals(error.issues.length, 12);
    assertEquals(error.issues[3]!.path, 'args.list[3]["a b"]');
    assertStringIncludes(error.message, "; and 2 more");
  });
});

Deno.test("a kind whose args are no schema is a fault of the composition", () => {
  for (const args of [5, {}, { "~standard": { version: 2, validate: () => {} } }]) {
    const kind = { ...sweep, args } as unknown as Kind;
    const error = assertThrows(
      () => createMemoryRuntime({ registrars: [{ kinds: [kind] }] }),
      CompositionError,
    );
    assertStringIncludes(error.faults[0]!, 'kind "sweep": args is');
  }
});
