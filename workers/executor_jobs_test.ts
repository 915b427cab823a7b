import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { sqlStateOf, TransactionConflictError, UndeclaredKindError } from "../ports/errors.ts";
import type { EnqueueRequest, Jobs, Offered } from "../ports/jobs.ts";
import type { JsonInput } from "../ports/json.ts";
import type { Kind } from "../ports/kind.ts";
import type { Tx } from "../ports/tx.ts";
import { type Fixture, fixture } from "./testdata/executor_fixture.ts";
import { until } from "./testdata/until.ts";

/** A queue that keeps what it is given, and knows the kind `mail`. */
class Kept implements Jobs {
  readonly requests: EnqueueRequest[] = [];
  readonly #tx: Tx | null;

  constructor(tx: Tx | null = null) {
    this.#tx = tx;
  }

  with(tx: Tx): Jobs {
    return new Kept(tx);
  }

  async enqueue(kind: string, args?: JsonInput, options?: object): Promise<string> {
    return (await this.offer(kind, args, options)).id;
  }

  async offer(kind: string, args?: JsonInput, options?: object): Promise<Offered> {
    const [id] = await this.enqueueMany([{ ...options, kind, args: args ?? null }]);
    return { id: id!, added: this.requests.length < 2 };
  }

  async enqueueMany(requests: readonly EnqueueRequest[]): Promise<string[]> {
    for (const { kind } of requests) if (kind !== "mail") throw new UndeclaredKindError(kind, ["mail"]);
    if (this.#tx !== null) return [await this.#insert(this.#tx)];
    this.requests.push(...requests);
    return requests.map((_, index) => String(index));
  }

  cancel(id: string): Promise<{ result: "gone"; state: null }> {
    assertEquals(typeof id, "string");
    return Promise.resolve({ result: "gone", state: null });
  }

  async #insert(tx: Tx): Promise<string> {
    try {
      const rows = await tx.unsafe("insert", ["a", 1, null], { prepare: true });
      return `${rows[0]!.id} of ${rows[0]!.params}`;
    } catch (error) {
      throw sqlStateOf(error) === "40001" ? new TransactionConflictError("40001", { cause: error }) : error;
    }
  }
}

const TRANSACTION = { text: "complete", transaction: "the transaction" };
const PLACES: Readonly<Record<string, Partial<Omit<Kind, "args">>>> = {
  "a thread": {},
  "a host process": { isolation: "process" },
  "a confined host process": { permissions: { enqueue: ["mail"] } },
};

async function output(f: Fixture, given: Parameters<Fixture["run"]>[0]): Promise<unknown> {
  const outcome = await f.run(given).ended;
  assert(outcome.type === "completed", JSON.stringify(outcome));
  return outcome.output === null ? null : JSON.parse(outcome.output);
}

for (const [place, where] of Object.entries(PLACES)) {
  Deno.test(`a handler in ${place} enqueues through its context, and catches what is refused by its class`, async () => {
    const jobs = new Kept();
    await using f = fixture({}, jobs);
    const request = { kind: "mail", args: { n: [1, null, "\u2028"] }, priority: 1 } as const;
    const ask = (method: string, of: object = request) =>
      output(f, { ...where, args: { do: "jobs", method, request: of } });
    assertEquals(await ask("enqueue"), "0");
    assertEquals(await ask("enqueueMany"), ["0", "1"]);
    assertEquals(jobs.requests, [request, request, request]);
    assertEquals(await ask("offer"), { id: "0", added: false });
    const other = await ask("enqueue", { kind: "other" });
    const isConfined = where.permissions !== undefined;
    assertEquals(other, isConfined ? { beyond: ["other"] } : { undeclared: "other" });
    assertEquals(await ask("cancel"), isConfined ? { beyond: ["cancel"] } : { result: "gone", state: null });
  });

  Deno.test(`a handler in ${place} enqueues in its own transaction: its statements are run where that is`, async () => {
    await using f = fixture({ completion: TRANSACTION }, new Kept());
    const ask = (more: object = {}) => output(f, { ...where, args: { do: "jobsIn", ...more } });
    const statements = ["the transaction", "the transaction", "insert"];
    assertEquals(await ask(), { id: "7 of 3", statements });
    const conflict = await ask({ code: "40001" }) as Record<string, unknown>;
    assertEquals([conflict.name, conflict.cause], ["TransactionConflictError", "the driver's own"]);
    const own = await ask({ code: "XX000" }) as Record<string, unknown>;
    assertEquals([own.name, own.message], ["Error", "the driver's own"]);
    const late = await ask({ ends: true }) as Record<string, unknown>;
    assertEquals(late.statements, ["the transaction", "the transaction"]);
    assertStringIncludes(String(late.message), "ended since");
  });
}

Deno.test("what a confined handler may enqueue is what its kind declares: nothing, some kinds, or all", async () => {
  await using f = fixture({}, new Kept());
  const ask = (permissions: object, method: string, kind = "mail") =>
    output(f, {
      name: JSON.stringify(permissions),
      permissions,
      args: { do: "jobs", method, request: { kind } },
    });
  assertEquals(await ask({}, "enqueue"), { beyond: ["mail"] });
  assertEquals(await ask({}, "enqueueMany", "other"), { beyond: ["other"] });
  assertEquals(await ask({ enqueue: true }, "enqueue"), "0");
  assertEquals(await ask({ enqueue: true }, "cancel"), { result: "gone", state: null });
});

Deno.test("more than a host process can tell at once is a typed error, and the process lives on", async () => {
  await using f = fixture({}, new Kept());
  const args = { do: "jobs", method: "too much", request: { kind: "mail" } };
  assertEquals(await output(f, { isolation: "process", args }), { max: 4 * 1024 * 1024 });
  assertEquals((await output(f, { args }) as string[]).length, 5);
});

Deno.test("an executor without jobs says so to the handler", async () => {
  await using f = fixture();
  const args = { do: "jobs", method: "enqueue", request: { kind: "mail" } };
  for (const where of [{}, { isolation: "process" }] as const) {
    assertStringIncludes(String(await output(f, { ...where, args })), "started without jobs");
  }
});

Deno.test("a signal says why: a crash of the attempt's own, and a process that was taken for dead", async () => {
  await using f = fixture();
  const crashed = await f.run({ args: { do: "crashAndTell" } }).ended;
  assert(crashed.type === "failed" && crashed.class === "crash");
  await until(() => f.lines.some((line) => line.includes("where nobody catches")));
  for (const where of [{}, { isolation: "process" }] as const) {
    const run = f.run({ ...where, args: { do: "sleep", ms: 5000, heed: true, tell: true } });
    await until(() => run.told.length > 0);
    f.executor.abort(run.key, "rescued");
    const outcome = await run.ended;
    assert(outcome.type === "released", JSON.stringify(outcome));
    assertStringIncludes(outcome.reason, "taken for dead");
  }
});
