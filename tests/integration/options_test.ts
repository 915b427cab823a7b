import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import {
  CompositionError,
  createMemoryRuntime,
  type CreateMemoryRuntimeOptions,
  createRuntime,
  type CreateRuntimeOptions,
  InvalidOptionError,
  type Kind,
  silentLog,
} from "../../mod.ts";
import { ArgsSchemaError } from "../../ports/args_schema.ts";

const URL_ = "postgres://ada:s3cret@localhost:1/none";
const kind: Kind = { name: "k", queue: "default", maxAttempts: 1, timeout: 1000, handler: () => {} };

function refusal(change: Record<string, unknown>): InvalidOptionError {
  const options = { url: URL_, registrars: [], log: silentLog, ...change } as CreateRuntimeOptions;
  const error = assertThrows(() => createRuntime(options), InvalidOptionError);
  assert(!error.message.includes("s3cret"), error.message);
  return error;
}

Deno.test("a misspelt option of a runtime is refused, and named with those that there are", () => {
  assertEquals(
    refusal({ databse: URL_ }).message.includes('"databse": expected queues, work, settings'),
    true,
  );
  for (const change of [{ settings: { pollMS: 5 } }, { events: { sweep: 5 } }, { executor: { thread: 1 } }]) {
    const [[option, value]] = Object.entries(change) as [[string, object]];
    const { message } = refusal(change);
    assert(message.includes(option) && message.includes(Object.keys(value)[0]!), message);
  }
  assertThrows(
    () => createMemoryRuntime({ registrars: [], url: URL_ } as unknown as CreateMemoryRuntimeOptions),
    InvalidOptionError,
    '"url": expected',
  );
});

Deno.test("an option that would be taken for another one is refused: a text for a truth, a URL for its text", () => {
  const refused: readonly Record<string, unknown>[] = [
    { preparedStatements: "false" },
    { listen: "on" },
    { url: new URL(URL_) },
    { url: "postgres:ada:s3cret@localhost/none" },
    { work: "default" },
    { session: { synchronous_commit: false } },
    { log: {} },
    { onThreadLost: "exit" },
    { settings: { toString: 5 } },
  ];
  for (const change of refused) refusal(change);
});

Deno.test("a URL where the options belong is refused, and not told", () => {
  const error = assertThrows(
    () => createRuntime(URL_ as unknown as CreateRuntimeOptions),
    InvalidOptionError,
  );
  assert(!error.message.includes("s3cret"), error.message);
});

Deno.test("a registrar that has to be awaited, and declarations that are none, are faults and no crash", () => {
  const registrars = [() => Promise.resolve({ kinds: [kind] }), {
    kinds: [null, null, kind, { ...kind, ownThread: "no" }],
  }];
  const error = assertThrows(
    () => createMemoryRuntime({ registrars, log: silentLog } as unknown as CreateMemoryRuntimeOptions),
    CompositionError,
  );
  assertEquals(error.faults.map((fault) => fault.split(":")[0]), [
    "a registrar is a promise, expected what it resolves to",
    "a kind is null, expected { name, queue, maxAttempts, timeout, handler }",
    "a kind is null, expected { name, queue, maxAttempts, timeout, handler }",
    'kind "k"',
    'kind "k" is declared twice',
  ]);
});

Deno.test("the options of an enqueue are refused where they are none: a Date for { runAt }", async () => {
  await using runtime = createMemoryRuntime({ registrars: [{ kinds: [kind] }], log: silentLog });
  for (const options of [new Date(), 5, "soon", { runat: new Date() }, { args: {} }, Promise.resolve({})]) {
    await assertRejects(
      () => runtime.enqueue("k", {}, options as object),
      InvalidOptionError,
      "options of an enqueue",
    );
  }
  assertEquals(await runtime.list(), []);
});

Deno.test("a number for the id of a job is refused: it would look as if the job were gone", async () => {
  await using runtime = createMemoryRuntime({ registrars: [{ kinds: [kind] }], log: silentLog });
  const id = Number(await runtime.enqueue("k")) as unknown as string;
  for (
    const call of [
      () => runtime.get(id),
      () => runtime.cancel(id),
      () => runtime.retry(id),
      () => runtime.wait(id, 0),
    ]
  ) {
    await assertRejects(call, InvalidOptionError, "the id of a job");
  }
});

Deno.test("a schema that throws is told with the kind, and nothing is enqueued", async () => {
  const args = {
    "~standard": {
      version: 1 as const,
      vendor: "none",
      validate: () => {
        throw new Error("no such table");
      },
    },
  };
  await using runtime = createMemoryRuntime({ registrars: [{ kinds: [{ ...kind, args }] }], log: silentLog });
  await assertRejects(
    () => runtime.enqueue("k", {}),
    ArgsSchemaError,
    'of kind "k": its schema threw: no such table',
  );
  await assertRejects(() => runtime.enqueueMany([{ kind: "k" }]), ArgsSchemaError);
  assertEquals(await runtime.list(), []);
});
