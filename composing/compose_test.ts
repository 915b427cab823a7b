import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import type { CompositionInput } from "../ports/composition.ts";
import { CompositionError, InvalidOptionError } from "../ports/errors.ts";
import type { EventType, InOrder, Subscription } from "../ports/event.ts";
import type { Kind, Periodic } from "../ports/kind.ts";
import type { Schedule } from "../ports/schedule.ts";
import { compose } from "./compose.ts";
import { declaredPeriodic } from "./periodic_job.ts";

// Ticks every minute; knows one wrong expression.
const schedule: Schedule = {
  check(cron, timezone) {
    if (cron === "wrong") throw new InvalidOptionError("cron", cron, "five fields");
    if (timezone === "") throw new InvalidOptionError("timezone", timezone, "an IANA name");
  },
  next: (_cron, _timezone, afterMs) => (Math.floor(afterMs / 60_000) + 1) * 60_000,
};

const kind: Kind = { name: "mail", queue: "default", maxAttempts: 3, timeout: 1000, handler: () => {} };
const every: Periodic = { name: "sweep", every: 1000, handler: () => {} };

function faultsOf(input: CompositionInput): readonly string[] {
  return assertThrows(() => compose(input, schedule), CompositionError).faults;
}

function faultsOfKind(change: Record<string, unknown>): readonly string[] {
  return faultsOf({ registrars: [{ kinds: [{ ...kind, ...change } as Kind] }] });
}

Deno.test("compose() puts kinds, queues and periodics together", () => {
  const composition = compose({
    registrars: [{ kinds: [kind] }, { periodics: [every] }, {}],
    queues: [{ name: "default", concurrency: 2 }],
  }, schedule);
  assertEquals([...composition.kinds.keys()], ["mail", "periodic:sweep"]);
  assertEquals([...composition.queues.keys()].sort(), ["default", "maintenance"]);
  assertEquals([...composition.periodics.keys()], ["sweep"]);
});

Deno.test("compose() gives maintenance 2, and default 5 only where no table is given", () => {
  const concurrency = (input: CompositionInput) =>
    [...compose(input, schedule).queues.values()].map((queue) => [queue.name, queue.concurrency]);
  assertEquals(concurrency({ registrars: [] }), [["maintenance", 2], ["default", 5]]);
  assertEquals(concurrency({ registrars: [], queues: [] }), [["maintenance", 2]]);
  assertEquals(concurrency({ registrars: [], queues: [{ name: "maintenance", concurrency: 4 }] }), [[
    "maintenance",
    4,
  ]]);
});

const FAULTY: readonly [string, Record<string, unknown>, string][] = [
  ["no name", { name: "" }, "the name is empty"],
  ["a name that is no text", { name: undefined }, "the name is empty"],
  ["a name of 129 characters", { name: "x".repeat(129) }, "129 characters"],
  ["a control character in its name", { name: "a\nb" }, "control character"],
  ["white space around its name", { name: " mail" }, "white space"],
  ["a periodic's name", { name: "periodic:x" }, "periodic:"],
  ["an unknown queue", { queue: "mial" }, '"mial" is not declared, declared are "maintenance", "default"'],
  ["0 attempts", { maxAttempts: 0 }, "maxAttempts is 0"],
  ["a half attempt", { maxAttempts: 1.5 }, "maxAttempts is 1.5"],
  ["a place beside that is none", { beside: 5 }, "beside is 5, expected { afterMs, most }"],
  [
    "a place beside without room",
    { beside: { afterMs: 0, most: 0 } },
    "beside.most is 0, expected an integer from 1",
  ],
  ["an alert that is neither", { discardAlert: "no" }, 'discardAlert is "no", expected true or false'],
  ["a rule that is none", { unique: true }, "unique is true, expected { by?, while?, within? }"],
  ["a rule with a misspelt member", { unique: { bye: ["a"] } }, '"bye" is not known'],
  ["paths that are no list", { unique: { by: "orderId" } }, 'unique.by is "orderId", expected a list'],
  ["a path that is none", { unique: { by: ["a..b"] } }, 'unique.by holds "a..b"'],
  ["a path into a list", { debounce: { by: ["a.0"], quietMs: 1, atMostMs: 1 } }, 'debounce.by holds "a.0"'],
  ["a path twice", { unique: { by: ["a", "a"] } }, "names a path twice"],
  ["states without pending", { unique: { while: ["running"] } }, 'unique.while is ["running"]'],
  ["a state that keeps nobody out", { unique: { while: ["pending", "discarded"] } }, "unique.while is"],
  ["a time within that is none", { unique: { within: 0 } }, "unique.within is 0, expected whole ms"],
  ["a debounce without times", { debounce: { by: ["a"], atMostMs: 1 } }, "debounce.quietMs is undefined"],
  [
    "a debounce whose bound is too short",
    { debounce: { quietMs: 2, atMostMs: 1 } },
    "atMostMs is 1, expected",
  ],
  ["two rules", { unique: {}, debounce: { quietMs: 1, atMostMs: 1 } }, "has both unique and debounce"],
  ["no timeout", { timeout: undefined }, "timeout is undefined"],
  ["a timeout of 0", { timeout: 0 }, "timeout is 0"],
  ["an endless timeout", { timeout: Infinity }, "timeout is Infinity"],
  ["no handler", { handler: undefined }, "no handler"],
  ["an empty handler", { handler: "" }, "empty string"],
  ["a backoff that is no function", { backoff: 5 }, "backoff is 5"],
  ["an unknown isolation", { isolation: "vm" }, '"thread" or "process"'],
  ["a memory cap below 64 MiB", { memory: 1000, handler: "./x.ts" }, "64 MiB"],
  [
    "a memory cap in a thread",
    { memory: 2 ** 27, isolation: "thread", handler: "./x.ts" },
    'expected "process"',
  ],
  [
    "permissions in a thread",
    { permissions: {}, isolation: "thread", handler: "./x.ts" },
    'expected "process"',
  ],
  [
    "a memory cap and its own thread",
    { memory: 2 ** 27, ownThread: true, handler: "./x.ts" },
    "expected one",
  ],
  [
    "an enqueue of a kind that nobody declares",
    { permissions: { enqueue: ["mail", "mial"] }, handler: "./x.ts" },
    'permissions.enqueue names "mial"',
  ],
  ["permissions for a function", { permissions: {} }, "main thread"],
  ["a timeout as text", { timeout: "30" }, 'timeout is "30"'],
  ["a misspelt member", { permissons: {} }, '"permissons" is not known'],
  ["a misspelt permission", { handler: "./x.ts", permissions: { raed: ["/tmp"] } }, '"raed" is not known'],
  [
    "a permission that is no list",
    { handler: "./x.ts", permissions: { read: "/tmp" } },
    'permissions.read is "/tmp"',
  ],
];

Deno.test("compose() says what was given where a declaration was expected", () => {
  const nothing = null as unknown;
  const faults = faultsOf({
    registrars: [nothing, { kinds: [nothing] }, { periodics: [nothing] }, { kinds: {} }, {
      kind: [],
    }] as unknown as [],
    queues: [nothing] as unknown as [],
  });
  assertEquals(faults.length, 6, faults.join("; "));
  for (const fault of faults) assertStringIncludes(fault, "expected");
});

Deno.test("compose() says that registrars are missing", () => {
  assertStringIncludes(
    faultsOf({} as CompositionInput)[0]!,
    "registrars: undefined was given, expected a list",
  );
});

for (const [what, change, message] of FAULTY) {
  Deno.test(`compose() refuses a kind with ${what}`, () => {
    const faults = faultsOfKind(change);
    assertEquals(faults.length, 1, faults.join("; "));
    assertStringIncludes(faults[0]!, message);
  });
}

Deno.test("compose() refuses what is declared twice", () => {
  const faults = faultsOf({
    registrars: [{ kinds: [kind], periodics: [every] }, { kinds: [kind], periodics: [every] }],
    queues: [{ name: "default", concurrency: 1 }, { name: "default", concurrency: 2 }],
  });
  assertEquals(faults, [
    'queue "default" is declared twice',
    'kind "mail" is declared twice',
    'periodic "sweep" is declared twice',
  ]);
});

Deno.test("compose() refuses a periodic without a period, with both, and with a bad expression or zone", () => {
  const handler = () => {};
  const periodics = [
    { name: "none", handler },
    { name: "both", every: 1000, cron: "* * * * *", timezone: "UTC", handler },
    { name: "fast", every: 99, handler },
    { name: "wrong", cron: "wrong", timezone: "UTC", handler },
    { name: "nowhere", cron: "* * * * *", timezone: "", handler },
  ] as unknown as Periodic[];
  const faults = faultsOf({ registrars: [{ periodics }] });
  for (const [index, part] of ["neither", "both", "at least 100", '"wrong"', "IANA"].entries()) {
    assertStringIncludes(faults[index]!, part);
  }
  assertEquals(faults.length, 5);
});

Deno.test("compose() reports all faults of a composition at once, in one message", () => {
  const error = assertThrows(() =>
    compose({
      registrars: [{
        kinds: [{ ...kind, name: "", queue: "gone", maxAttempts: 0, timeout: -1, handler: "" }],
        periodics: [{ ...every, every: 1 }],
      }],
      queues: [{ name: "q", concurrency: 0 }],
    }, schedule), CompositionError);
  assertEquals(error.faults.length, 7);
  for (const fault of error.faults) assertStringIncludes(error.message, fault);
});

Deno.test("compose() makes a kind of a periodic with a handler, by itself or as it says", () => {
  const backoff = () => 5;
  const { kinds } = compose({
    registrars: [{
      periodics: [
        every,
        {
          ...every,
          name: "own",
          queue: "default",
          maxAttempts: 4,
          timeout: 5000,
          backoff,
          discardAlert: false,
        },
      ],
    }],
  }, schedule);
  const { handler, ...plain } = kinds.get("periodic:sweep")!;
  assertEquals(typeof handler, "function");
  assertEquals(plain, { name: "periodic:sweep", queue: "maintenance", maxAttempts: 1, timeout: 600_000 });
  const own = kinds.get("periodic:own")!;
  assertEquals([own.queue, own.maxAttempts, own.timeout, own.backoff, own.discardAlert], [
    ...["default", 4, 5000, backoff, false],
  ]);
});

Deno.test("declaredPeriodic() tells when a periodic ticks and what that enqueues", () => {
  const ofKind: Periodic = {
    ...{ name: "report", cron: "0 7 * * *", timezone: "UTC", runAtStart: true },
    ...{ kind: "mail", args: { to: "all" }, priority: 1 },
  };
  const { kinds } = compose({ registrars: [{ kinds: [kind], periodics: [every, ofKind] }] }, schedule);
  assertEquals([...kinds.keys()], ["mail", "periodic:sweep"]);
  assertEquals(declaredPeriodic(ofKind, kinds), {
    name: "report",
    schedule: { cron: "0 7 * * *", timezone: "UTC" },
    job: {
      kind: "mail",
      queue: kind.queue,
      priority: 1,
      maxAttempts: kind.maxAttempts,
      args: '{"to":"all"}',
    },
    runAtStart: true,
  });
  assertEquals(declaredPeriodic(every, kinds), {
    name: "sweep",
    schedule: { every: 1000 },
    job: { kind: "periodic:sweep", queue: "maintenance", priority: 2, maxAttempts: 1, args: "null" },
    runAtStart: false,
  });
});

const schema = {
  "~standard": {
    version: 1 as const,
    vendor: "none",
    validate: (value: unknown) => value === 7 ? { value } : { issues: [{ message: "it is not 7" }] },
  },
};

const OTHER_KINDS: readonly Kind[] = [
  { ...kind, name: "strict", args: schema },
  { ...kind, name: "keyed", unique: { by: ["to", "order.id"] } },
  { ...kind, name: "gathered", debounce: { by: ["shop"], quietMs: 1, atMostMs: 1 } },
];

const FAULTY_PERIODICS: readonly [string, Record<string, unknown>, string][] = [
  ["neither a handler nor a kind", { handler: undefined }, "has no handler"],
  ["an undeclared kind", { handler: undefined, kind: "gone" }, '"gone" is not declared, declared are "mail"'],
  ["a kind and a handler", { kind: "mail" }, "both kind and handler"],
  ["a kind and attempts", { handler: undefined, kind: "mail", maxAttempts: 2 }, "both kind and maxAttempts"],
  ["args without a kind", { args: {} }, "args without a kind"],
  ["args that are no JSON", { handler: undefined, kind: "mail", args: { at: 1n } }, "args.at"],
  [
    "args without what the kind's unique key is made of",
    { handler: undefined, kind: "keyed", args: { to: 1 } },
    'its args have no "order.id", which its unique key is made of',
  ],
  [
    "no args for a kind that is debounced by one",
    { handler: undefined, kind: "gathered" },
    'its args have no "shop", which its unique key is made of',
  ],
  ["args that do not fit", { handler: undefined, kind: "strict", args: 8 }, "it is not 7"],
  ["no attempt", { maxAttempts: 0 }, "maxAttempts is 0"],
  ["a timeout of 0", { timeout: 0 }, "timeout is 0"],
  ["an undeclared queue", { queue: "gone" }, '"gone" is not declared, declared are "maintenance", "default"'],
  ["a priority out of its range", { priority: 5 }, "priority is 5"],
  ["a flag that is a text", { runAtStart: "false" }, 'runAtStart is "false"'],
  ["a key that is not known", { retries: 3 }, '"retries" is not known'],
];

for (const [what, change, message] of FAULTY_PERIODICS) {
  Deno.test(`compose() refuses a periodic with ${what}`, () => {
    const given = Object.entries({ ...every, ...change }).filter(([, value]) => value !== undefined);
    const periodics = [Object.fromEntries(given) as unknown as Periodic];
    const kinds = [kind, ...OTHER_KINDS.filter(({ name }) => name === change.kind)];
    const faults = faultsOf({ registrars: [{ kinds, periodics }] });
    assertEquals(faults.length, 1, faults.join("; "));
    assertStringIncludes(faults[0]!, message);
  });
}

Deno.test("compose() takes a periodic whose args have what the key is made of, and tells a faulty rule of its kind once", () => {
  const periodic: Periodic = { name: "p", every: 1000, kind: "k", args: { a: null } };
  const of = (unique: Kind["unique"]) => ({
    registrars: [{ kinds: [{ ...kind, name: "k", unique: unique! }], periodics: [periodic] }],
  });
  assertEquals([...compose(of({ by: ["a"] }), schedule).periodics.keys()], ["p"]);
  assertEquals([...compose(of({ by: [] }), schedule).periodics.keys()], ["p"]);
  assertEquals(faultsOf(of({ by: "a" as unknown as string[] })).length, 1);
});

const placed: EventType = { type: "order.placed", description: "An order was placed", subject: "its id" };
const told: Subscription = { name: "told", types: ["order.*"], handler: () => {} };

Deno.test("compose() makes a kind of each subscription", () => {
  const { kinds, eventTypes, subscriptions } = compose({
    registrars: [{ eventTypes: [placed] }, { subscriptions: [told, { ...told, name: "slow", timeout: 5 }] }],
  }, schedule);
  assertEquals([...eventTypes.keys()], ["order.placed"]);
  assertEquals([...subscriptions.keys()], ["told", "slow"]);
  const { queue, maxAttempts, timeout } = kinds.get("told")!;
  assertEquals({ queue, maxAttempts, timeout }, { queue: "default", maxAttempts: 10, timeout: 30_000 });
  assertEquals(kinds.get("slow")!.timeout, 5);
});

const FAULTY_EVENTS: readonly [string, Record<string, unknown>, string][] = [
  ["a type of one segment", { eventTypes: [{ ...placed, type: "placed" }] }, "a noun and a verb"],
  ["a type with a star", { eventTypes: [{ ...placed, type: "order.*" }] }, "a noun and a verb"],
  ["a type without a description", { eventTypes: [{ ...placed, description: "" }] }, "description is"],
  ["a type with an unknown exposure", { eventTypes: [{ ...placed, exposure: "all" }] }, 'exposure is "all"'],
  ["a type with an unknown member", { eventTypes: [{ ...placed, owner: "me" }] }, '"owner" is not known'],
  ["a type twice", { eventTypes: [placed, placed] }, "declared twice, each type has one owner"],
  ["a subscription twice", { eventTypes: [placed], subscriptions: [told, told] }, "declared twice"],
  [
    "a glob that matches nothing",
    { eventTypes: [placed], subscriptions: [{ ...told, types: ["oder.*"] }] },
    '"oder.*" matches no declared event type, declared are "order.placed"',
  ],
  [
    "a glob that is none",
    { eventTypes: [placed], subscriptions: [{ ...told, types: ["order.p*"] }] },
    "no glob",
  ],
  ["no globs", { eventTypes: [placed], subscriptions: [{ ...told, types: [] }] }, "at least one glob"],
  ["no handler", { eventTypes: [placed], subscriptions: [{ ...told, handler: undefined }] }, "no handler"],
  [
    "an unknown queue",
    { eventTypes: [placed], subscriptions: [{ ...told, queue: "x" }] },
    '"x" is not declared',
  ],
  [
    "an order that is no pair of functions",
    { eventTypes: [placed], subscriptions: [{ ...told, inOrder: { take: 1 } as unknown as InOrder }] },
    "inOrder is",
  ],
  [
    "a rule without paths, under which no two events are twins",
    { eventTypes: [placed], subscriptions: [{ ...told, unique: {} }] },
    'subscription "told": unique has no by, expected paths of the event',
  ],
  [
    "a rule of what its events come without",
    {
      eventTypes: [placed],
      subscriptions: [{ ...told, data: false, debounce: { by: ["data.a"], quietMs: 1, atMostMs: 1 } }],
    },
    'subscription "told": debounce.by holds "data.a", but its events come without data',
  ],
  ["priority 5", { eventTypes: [placed], subscriptions: [{ ...told, priority: 5 }] }, "priority is 5"],
  [
    "a kind of that name",
    { kinds: [{ ...kind, name: "told" }], eventTypes: [placed], subscriptions: [told] },
    'subscription "told" has the name of a kind',
  ],
  ["a keeper that is no function", { keepEvents: 5 }, "a registrar: keepEvents is 5"],
  [
    "a service that can't end",
    { services: [{ open() {}, start() {} }] },
    "expected { open(), start(), stop() }",
  ],
];

for (const [what, registrar, message] of FAULTY_EVENTS) {
  Deno.test(`compose() refuses events with ${what}`, () => {
    const faults = faultsOf({ registrars: [registrar] });
    assertEquals(faults.length, 1, faults.join("; "));
    assertStringIncludes(faults[0]!, message);
  });
}

Deno.test("compose() tells of all faults of events at once, whoever declares them", () => {
  const faults = faultsOf({
    registrars: [
      { eventTypes: [placed, { ...placed, subject: "" }] },
      { subscriptions: [{ ...told, types: ["a.b", "*.placed", "c"] }, null as unknown as Subscription] },
    ],
  });
  assertEquals(faults.length, 5, faults.join("; "));
});

Deno.test("a subscription with an exposure gets the exposed types alone, be there none", () => {
  const typed = (type: string, exposure?: "webhook") => ({
    type,
    description: "what happened",
    subject: "its id",
    ...(exposure === undefined ? {} : { exposure }),
  });
  const subscription = { name: "outside", types: ["*"], exposure: "webhook" as const, handler: () => {} };
  const inside = { name: "inside", types: ["*"], handler: () => {} };
  const types = [typed("a.b"), typed("a.c", "webhook")];
  const composed = compose(
    { registrars: [{ eventTypes: types, subscriptions: [subscription, inside] }] },
    schedule,
  );
  assertEquals(composed.subscriptions.get("outside")!.types, ["a.c"]);
  assertEquals(composed.subscriptions.get("inside")!.types, ["*"]);
  assertEquals(
    compose({ registrars: [{ subscriptions: [subscription] }] }, schedule).subscriptions.get("outside")!
      .types,
    [],
  );
});
