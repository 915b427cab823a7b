/**
 * Writes docs/options.md: every option of the public interfaces with what its doc comment says of it, so that the page
 * can't say anything else than the code. Bounds and defaults in a comment are compared with the declared ones. `--check`
 * writes nothing and fails when the page is not what would be written.
 *
 * @module
 */
import { DATABASE_OPTIONS, TRANSACTION_OPTIONS } from "../adapters/postgres/connection/database.ts";
import { ATTEMPTS, BESIDE, KIND, QUEUE } from "../composing/declaration_faults.ts";
import { SUBSCRIPTION } from "../composing/event_faults.ts";
import { DEBOUNCE, UNIQUE } from "../composing/key_rule_faults.ts";
import { PERIOD, PERIODIC } from "../composing/periodic_faults.ts";
import { EVENT_SETTINGS } from "../events/settings.ts";
import { TIMER_MS_MAX } from "../ports/limits.ts";
import { ENQUEUE_OPTIONS } from "../runtime/_requests.ts";
import { SETTINGS } from "../runtime/settings.ts";
import type { Option } from "../shared/options.ts";
import { WEBHOOK_SETTINGS } from "../webhooks/settings.ts";
import { EXECUTOR_OPTIONS } from "../workers/options.ts";

const root = decodeURIComponent(new URL("..", import.meta.url).pathname);
const PAGE = `${root}docs/options.md`;

interface Table {
  readonly title: string;
  readonly file: string;
  readonly name: string;
  /** What the interface takes over from others. */
  readonly also?: string;
  /** Every one has a default, whatever the type says. */
  readonly isPartial?: true;
}

interface Section {
  readonly title: string;
  readonly tables: readonly Table[];
}

const SECTIONS: readonly Section[] = [
  {
    title: "Declarations",
    tables: [
      { title: "A kind", file: "ports/kind.ts", name: "Kind" },
      { title: "`unique` of a kind or a subscription", file: "ports/key_rule.ts", name: "UniqueRule" },
      { title: "`debounce` of a kind or a subscription", file: "ports/key_rule.ts", name: "DebounceRule" },
      { title: "`beside` of a kind", file: "ports/kind.ts", name: "Beside" },
      { title: "`permissions` of a kind", file: "ports/permissions.ts", name: "Permissions" },
      { title: "A queue", file: "ports/kind.ts", name: "Queue" },
      { title: "A periodic", file: "ports/kind.ts", name: "PeriodicBase" },
      { title: "A periodic with a period", file: "ports/kind.ts", name: "PeriodicEvery" },
      { title: "A periodic with a cron expression", file: "ports/kind.ts", name: "PeriodicCron" },
      { title: "A periodic of a declared kind", file: "ports/kind.ts", name: "PeriodicKind" },
      {
        title: "A periodic with a handler of its own",
        file: "ports/kind.ts",
        name: "PeriodicHandler",
        also:
          "`handler`, `backoff`, `isolation`, `permissions`, `memory`, `ownThread` and `discardAlert` are those of a kind.",
      },
      { title: "An event type", file: "ports/event.ts", name: "EventType" },
      { title: "A subscription", file: "ports/event.ts", name: "Subscription" },
      { title: "A registrar", file: "ports/registrar.ts", name: "Registrar" },
    ],
  },
  {
    title: "Calls",
    tables: [
      { title: "`enqueue` and `offer`", file: "ports/jobs.ts", name: "EnqueueOptions" },
      { title: "`wait`", file: "ports/runtime.ts", name: "WaitOptions" },
      { title: "`migrate`", file: "ports/database.ts", name: "MigrateOptions" },
      { title: "`database.transaction`", file: "ports/database.ts", name: "TransactionOptions" },
    ],
  },
  {
    title: "A runtime",
    tables: [
      {
        title: "`createRuntime` and `createMemoryRuntime`",
        file: "assembly/common.ts",
        name: "CommonOptions",
        also:
          "`queues` is the queue table: `maintenance` (2) exists by itself, without a table there is `default` (5) too.",
      },
      {
        title: "`createRuntime`",
        file: "adapters/postgres/connection/database.ts",
        name: "PostgresDatabaseOptions",
        also: "A runtime needs a `poolSize` of at least 4.",
      },
      { title: "`settings`", file: "runtime/settings.ts", name: "Settings", isPartial: true },
      { title: "`executor`", file: "workers/options.ts", name: "ExecutorOptions", isPartial: true },
      { title: "`events`", file: "events/settings.ts", name: "EventSettings", isPartial: true },
    ],
  },
  {
    title: "Webhooks",
    tables: [
      { title: "`new Webhooks`", file: "webhooks/webhooks.ts", name: "WebhooksOptions" },
      { title: "`egress`", file: "webhooks/sender/guard.ts", name: "EgressOptions" },
      {
        title: "`settings` of webhooks",
        file: "webhooks/settings.ts",
        name: "WebhookSettings",
        isPartial: true,
      },
      { title: "An endpoint", file: "webhooks/endpoints/endpoint.ts", name: "EndpointDraft" },
    ],
  },
];

/** What `createRuntime` hands over by itself. */
const NOT_GIVEN: Readonly<Record<string, readonly string[]>> = { ExecutorOptions: ["completion", "log"] };

const HEAD = `# Options

Every option with its default and its bounds, made from the doc comments by \`deno run -A tools/options_page.ts\`.
An option with \`?\` can be left out. A value that doesn't fit is refused with an error that names it.
`;

/** The options whose bounds and defaults are declared: what their comments say of them is compared. */
const DECLARED: Readonly<Record<string, Readonly<Record<string, Option>>>> = {
  Kind: KIND,
  UniqueRule: UNIQUE,
  DebounceRule: DEBOUNCE,
  Beside: BESIDE,
  Queue: QUEUE,
  PeriodicBase: PERIODIC,
  PeriodicEvery: { every: PERIOD },
  PeriodicHandler: PERIODIC,
  Subscription: { ...SUBSCRIPTION, ...ATTEMPTS },
  EnqueueOptions: ENQUEUE_OPTIONS,
  TransactionOptions: TRANSACTION_OPTIONS,
  PostgresDatabaseOptions: DATABASE_OPTIONS,
  Settings: SETTINGS,
  EventSettings: EVENT_SETTINGS,
  WebhookSettings: WEBHOOK_SETTINGS,
  ExecutorOptions: EXECUTOR_OPTIONS,
};

/** Units of ms in which comments tell long times. */
const UNITS: readonly (readonly [ms: number, one: string, many: string])[] = [
  [365 * 24 * 60 * 60 * 1000, "year", "years"],
  [24 * 60 * 60 * 1000, "day", "days"],
  [60 * 60 * 1000, "hour", "hours"],
  [60 * 1000, "minute", "minutes"],
  [1000, "s", "s"],
];

const MIB = 1024 * 1024;

/** The ways in which a comment may write a number. */
function waysToWrite(value: number): string[] {
  if (value === TIMER_MS_MAX) return ["2^31 - 1"];
  const times = UNITS.filter(([ms]) => value > 0 && value % ms === 0).map(([ms, one, many]) =>
    `${(value / ms).toLocaleString("en")} ${value === ms ? one : many}`
  );
  const sizes = value > 0 && value % MIB === 0 ? [`${value / MIB} MiB`] : [];
  return [value.toLocaleString("en"), ...times, ...sizes];
}

/** The ways in which a comment may tell bounds. */
function waysToBound([min, max]: readonly [number, number], isAbove: boolean): string[] {
  if (max === Number.MAX_SAFE_INTEGER) return waysToWrite(min).map((least) => `at least ${least}`);
  const mosts = waysToWrite(max);
  if (isAbove) return mosts.map((most) => `above ${min} and at most ${most}`);
  return waysToWrite(min).flatMap((least) =>
    mosts.flatMap((most) => [`${least} to ${most}`, `${least} ms to ${most}`])
  );
}

/** Whether a text holds a phrase whose first and last number are not parts of longer ones. */
function says(text: string, phrase: string): boolean {
  const parts = text.split(phrase);
  return parts.some((after, index) =>
    index > 0 && !/[\d,]$/.test(parts[index - 1]!) && !/^[,.]?\d/.test(after)
  );
}

/**
 * Compares what a comment says of bounds and default with the declaration.
 *
 * @throws {Error} it says something else.
 */
function checkNumbers(table: string, name: string, doc: string): void {
  const option = DECLARED[table]?.[name];
  if (option?.range === undefined) return;
  const text = doc.replaceAll(/\s+/g, " ").replaceAll(/ \([^)]*\)/g, "").toLowerCase();
  const bounds = waysToBound(option.range, option.isAbove === true);
  const defaults = typeof option.default === "number"
    ? waysToWrite(option.default).map((way) => `Default ${way}`)
    : [];
  for (const expected of [bounds, defaults]) {
    if (expected.length === 0 || expected.some((each) => says(text, each.toLowerCase()))) continue;
    throw new Error(`The comment of ${table}.${name} says none of: ${expected.join("; ")}`);
  }
}

interface Property {
  readonly name: string;
  readonly optional?: boolean;
  readonly jsDoc?: { readonly doc?: string };
}

/** The properties and methods of one interface, in the order of the source. */
async function propertiesOf({ file, name }: Table): Promise<readonly Property[]> {
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["doc", "--json", file],
    cwd: root,
  }).output();
  if (!success) {
    throw new Error(`Cannot read the doc comments of ${file}: ${new TextDecoder().decode(stderr)}`);
  }
  const { nodes } = JSON.parse(new TextDecoder().decode(stdout)) as {
    nodes: Record<string, { symbols: { name: string; declarations: { kind: string; def: Members }[] }[] }>;
  };
  const symbol = Object.values(nodes).flatMap(({ symbols }) => symbols).find((each) => each.name === name);
  const declaration = symbol?.declarations.find(({ kind }) => kind === "interface");
  if (declaration === undefined) {
    throw new Error(`${file} has no interface ${name}, which docs/options.md shows`);
  }
  return [...declaration.def.properties ?? [], ...declaration.def.methods ?? []];
}

interface Members {
  readonly properties?: readonly Property[];
  readonly methods?: readonly Property[];
}

async function tableOf(table: Table): Promise<string> {
  const left = NOT_GIVEN[table.name] ?? [];
  const rows = (await propertiesOf(table)).filter(({ name }) => !left.includes(name)).map((property) => {
    const mark = property.optional === true || table.isPartial === true ? "?" : "";
    const doc = property.jsDoc?.doc;
    if (doc === undefined) {
      throw new Error(`${table.name}.${property.name} in ${table.file} has no doc comment`);
    }
    checkNumbers(table.name, property.name, doc);
    return `| \`${property.name}${mark}\` | ${cellOf(doc)} |`;
  });
  const also = table.also === undefined ? "" : `\n${table.also}\n`;
  return `### ${table.title}\n${also}\n| option | what it is |\n| --- | --- |\n${rows.join("\n")}\n`;
}

/** A doc comment as one line of a table. */
function cellOf(doc: string): string {
  return doc.trim().replaceAll(/\{@linkcode ([^}]+)\}/g, "`$1`").replaceAll(/\s*\n\s*/g, " ").replaceAll(
    "|",
    "\\|",
  );
}

async function formatted(markdown: string): Promise<string> {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["fmt", "--ext", "md", "-"],
    cwd: root,
    stdin: "piped",
    stdout: "piped",
  }).spawn();
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(markdown));
  await writer.close();
  const { success, stdout } = await child.output();
  if (!success) throw new Error("Cannot format docs/options.md");
  return new TextDecoder().decode(stdout);
}

let page = HEAD;
for (const { title, tables } of SECTIONS) {
  page += `\n## ${title}\n\n${(await Promise.all(tables.map(tableOf))).join("\n")}`;
}
const text = await formatted(page);
if (!Deno.args.includes("--check")) {
  await Deno.writeTextFile(PAGE, text);
} else if (await Deno.readTextFile(PAGE).catch(() => "") !== text) {
  throw new Error("docs/options.md is not what the code says: run deno run -A tools/options_page.ts");
}
