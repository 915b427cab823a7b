import fc from "../../conformance/fast_check.ts";
import { assert, assertEquals } from "../../support/assert.ts";
import {
  CompositionError,
  createRuntime,
  type CreateRuntimeOptions,
  type PostgresRuntime,
  silentLog,
} from "../../../mod.ts";
import { NAME_LENGTH_MAX } from "../../../ports/limits.ts";
import { SUITE_SETTINGS } from "../../conformance/stage.ts";
import { runSql } from "../../drivers/postgres_transaction.ts";
import { databaseUrl } from "../../harness/database_url.ts";
import { eventType, globOf, naiveMatch } from "../globs.ts";
import { textOf } from "../hostile.ts";
import type { Property } from "../property.ts";

const DEADLINE_MS = 20_000;

const PIECES = [
  ...[
    "order",
    ".",
    "mail",
    '"',
    "'",
    "\\",
    ",",
    "{",
    "}",
    "[",
    "]",
    "%",
    "_",
    ";",
    "--",
    "$1",
    "NULL",
    "null",
    "__proto__",
  ],
  ...[
    "constructor",
    "periodic:",
    "periodic",
    "*",
    "toString",
    "\u{1f600}",
    "\u00fc",
    "u\u0308",
    "\ufeff",
    "\u2028",
    "\u202e",
  ],
];
const MARRED = [" ", "\n", "\0", "\x7f", "\ud83d", "a".repeat(127), "x".repeat(129)];
const name = fc.oneof(
  { weight: 5, arbitrary: textOf(PIECES, 5).filter((text) => isName(text)) },
  { weight: 1, arbitrary: textOf([...PIECES, ...MARRED], 4) },
);
const type = fc.oneof(
  { weight: 6, arbitrary: eventType },
  textOf(["a", ".", "..", "*", " ", "\u00fc", "_", "-", "\n"], 5),
);

/** By the sentences of the declarations alone. */
function isName(text: string): boolean {
  return text !== "" && text.length <= NAME_LENGTH_MAX && text.trim() === text && text.isWellFormed() &&
    [...text].every((character) => character >= " " && character !== "\x7f");
}

function isType(text: string): boolean {
  const segments = text.split(".");
  return segments.length > 1 && text.length <= NAME_LENGTH_MAX &&
    segments.every((segment) => segment !== "" && [...segment].every((letter) => LETTERS.includes(letter)));
}

const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";

function isGlob(text: string): boolean {
  return text.split(".").every((segment) =>
    segment === "*" || segment !== "" && [...segment].every((letter) => LETTERS.includes(letter))
  );
}

interface Drawn {
  readonly kind: string;
  readonly queue: string;
  readonly subscription: string;
  readonly type: string;
  readonly glob: string;
}

const drawn: fc.Arbitrary<Drawn> = type.chain((type) =>
  fc.record({
    kind: name,
    queue: name,
    subscription: name,
    type: fc.constant(type),
    glob: fc.oneof(
      { weight: 4, arbitrary: globOf(type) },
      eventType,
      textOf(["*", ".", "order", "[", "(", "\\"], 4),
    ),
  })
);

/** Why a composition of these names must be refused; empty when it must not. */
function reasons({ kind, queue, subscription, type, glob }: Drawn): string[] {
  const found: string[] = [];
  for (const each of [kind, queue, subscription]) if (!isName(each)) found.push("a name");
  for (const each of [kind, subscription]) if (each.startsWith("periodic:")) found.push("reserved");
  if (kind === subscription) found.push("one name for two");
  if (!isType(type)) found.push("the type");
  if (!isGlob(glob)) found.push("the glob");
  else if (!naiveMatch(glob, type)) found.push("the glob matches nothing");
  return found;
}

async function roundTrip(schema: string, { kind, queue, subscription, type, glob }: Drawn): Promise<void> {
  const heard: string[] = [];
  const options: CreateRuntimeOptions = {
    url: databaseUrl(),
    schema,
    log: silentLog,
    settings: SUITE_SETTINGS,
    queues: [{ name: queue, concurrency: 1 }],
    registrars: [{
      kinds: [{
        name: kind,
        queue,
        maxAttempts: 1,
        timeout: 5000,
        handler: (_args, ctx) => void heard.push(`${ctx.kind} in ${ctx.queue}`),
      }],
      eventTypes: [{ type, description: "as drawn", subject: "nothing" }],
      subscriptions: [{
        name: subscription,
        queue,
        types: [glob],
        handler: (event) => void heard.push(event.type),
      }],
    }],
  };
  const refused = reasons({ kind, queue, subscription, type, glob });
  let runtime: PostgresRuntime;
  try {
    runtime = createRuntime(options);
  } catch (error) {
    assert(error instanceof CompositionError, String(error));
    assert(refused.length > 0, error.message);
    return;
  }
  try {
    assertEquals(refused, [], "it was not refused");
    await runtime.start();
    const id = await runtime.enqueue(kind, { once: crypto.randomUUID() }, { uniqueByArgs: true });
    const [row] = await runtime.database.query(
      "select {schema}.enqueue($1::text, '[1]', queue => $2::text) as id",
      [
        kind,
        queue,
      ],
    );
    const event = await runtime.recorder.record({ type, subject: kind });
    const receipt = await runtime.events.awaitFanout(event, DEADLINE_MS);
    assert(receipt.fannedOut);
    for (const job of [id, String(row!.id), receipt.jobs[subscription]!]) {
      const end = await runtime.wait(job, DEADLINE_MS);
      assertEquals(end.done && end.state, "completed");
    }
    assertEquals(heard.sort(), [`${kind} in ${queue}`, `${kind} in ${queue}`, type].sort());
    const found = (await runtime.list({ kind, queue })).map((job) => job.id);
    assert(found.includes(id) && found.includes(String(row!.id)));
    const mine = (await runtime.overview(kind)).kinds.find((each) => each.kind === kind)!;
    assert(mine.states.completed >= 2);
    assertEquals((await runtime.events.get(event))!.subscribers.map((each) => each.subscription), [
      subscription,
    ]);
    await runtime.pauseQueue(queue);
    assert((await runtime.overview()).queues.some((each) => each.queue === queue && each.pausedAt !== null));
    await runtime.resumeQueue(queue);
  } finally {
    await runtime.stop();
  }
}

/** Runs a check in a schema of its own, whose tables are there. */
async function inSchema(body: (schema: string, runtime: PostgresRuntime) => Promise<void>): Promise<void> {
  const schema = `fuzz_${crypto.randomUUID().slice(0, 8)}`;
  const runtime = createRuntime({ url: databaseUrl(), schema, log: silentLog, registrars: [] });
  try {
    await runtime.migrate();
    await body(schema, runtime);
  } finally {
    await runtime.stop();
    await runSql(databaseUrl(), `drop schema if exists ${schema} cascade`);
  }
}

export const nameProperties: readonly Property[] = [
  {
    name:
      "kinds, queues, subscriptions and event types may have any name: refused at construction, or it all works",
    runs: 15,
    async check(numRuns) {
      await inSchema((schema) =>
        fc.assert(fc.asyncProperty(drawn, (drawn) => roundTrip(schema, drawn)), { numRuns })
      );
    },
  },
  {
    name: "an event glob finds in SQL what it matches in TypeScript",
    runs: 60,
    async check(numRuns) {
      await inSchema(async (schema) => {
        const types = [...new Set(fc.sample(eventType, 300))];
        const runtime = createRuntime({
          url: databaseUrl(),
          schema,
          log: silentLog,
          registrars: [{
            eventTypes: types.map((type) => ({ type, description: "as drawn", subject: "nothing" })),
          }],
        });
        try {
          await runtime.recorder.recordMany(types.map((type) => ({ type, subject: "s" })));
          const glob = fc.constantFrom(...types).chain(globOf);
          const property = fc.asyncProperty(glob, async (glob) => {
            const found = await runtime.events.list({ type: glob, limit: 1000 });
            assertEquals(
              found.map(({ type }) => type).sort(),
              types.filter((type) => naiveMatch(glob, type)).sort(),
            );
          });
          await fc.assert(property, { numRuns });
        } finally {
          await runtime.stop();
        }
      });
    },
  },
];
