/**
 * Runs the tests (`deno task test`) on `DATABASE_URL`, or on an embedded PostgreSQL that it starts for the run, with
 * PostgreSQL's own durability settings. Everything after the mode is handed to `deno test`: flags, files, folders.
 *
 * - no mode: all tests but the slow ones; of the conformance on PostgreSQL the cases about handlers run with threads, the
 *   others with handlers in the main thread, where their statements are the same;
 * - `--slow`: the slow ones, then the matrix's older versions;
 * - `--matrix`: conformance and integration on every major version of PostgreSQL. Threads are the same on each, so the
 *   conformance runs with handlers in the main thread.
 *
 * @module
 */
import { statfsSync } from "node:fs";
import { EMBEDDED_VERSIONS, type EmbeddedPostgres, startEmbedded } from "../embedded/mod.ts";
import { readSummary, type Summary } from "./test_summary.ts";

/** What runs on every version: whatever talks to PostgreSQL. */
const MATRIX =
  /^(adapters\/postgres\/|tests\/integration\/|tests\/schema\/|tests\/conformance_postgres_(inline|records))/;

/** What runs in the matrix alone. */
const MATRIX_ALONE = /^tests\/conformance_postgres_inline/;

/** Programs that some tests need. */
const PROGRAMS = [
  { names: ["pgbouncer"], tests: /pgbouncer|pooler/, get: "apt-get install pgbouncer" },
];

/** What takes longest has a process beside the others' from the start, or it would go on alone at the end. */
const LONGEST = /^tests\/conformance_/;

/** Deno tells of a test that has run for 1, 2, 4, 8, ... minutes. None of ours needs so many. */
const HUNG_AFTER_MINUTES = 8;

/** How many other test files run at the same time. Those of the matrix wait for most of their time. */
const FILES_AT_ONCE = 3;
const MATRIX_FILES_AT_ONCE = 5;

/** Slow ones that have much to do, and those that wait for long: neither measures what the others would disturb. */
const SLOW_AT_ONCE = [
  /(clock_changes|json_text|json_round_trip|versions|scenarios|fuzz\/database|fuzz\/fuzz|demo|migrations|order)_slow/,
  /(bounds|full_length|outage|programs\/worker|webhooks\/(endpoint_health|kill))_slow/,
] as const;

/** A file system in memory, where there is one, and how much of it must be free. */
const MEMORY_FOLDER = "/dev/shm";
const MEMORY_BYTES_MIN = 4 * 1024 ** 3;

const root = decodeURIComponent(new URL("..", import.meta.url).pathname);

async function main(args: readonly string[]): Promise<number> {
  const mode = args[0] === "--slow" || args[0] === "--matrix" ? args[0] : "";
  const rest = args.slice(mode === "" ? 0 : 1);
  const all = await testFiles();
  const named = rest.some((arg) => !arg.startsWith("-") && exists(arg));
  await sayMissing(all);
  let code = 0;
  if (mode !== "--matrix") {
    const files = all.filter((file) => isSlow(file) === (mode === "--slow") && !MATRIX_ALONE.test(file));
    if (files.length > 0) {
      code = await run(Deno.env.get("DATABASE_URL"), undefined, named ? [] : files, rest);
    }
  }
  if (mode !== "" && !named) {
    const files = all.filter((file) => MATRIX.test(file) && !isSlow(file));
    // The newest is what `deno task test` runs on.
    const versions = Object.keys(EMBEDDED_VERSIONS).slice(0, mode === "--slow" ? -1 : undefined);
    for (const version of files.length > 0 ? versions : []) {
      code = await run(undefined, version, files, rest) || code;
    }
  }
  return code;
}

/** One run on one database. Returns the exit code of `deno test`. */
async function run(
  url: string | undefined,
  version: string | undefined,
  files: readonly string[],
  args: readonly string[],
): Promise<number> {
  const areSlow = [...files, ...args].some(isSlow);
  await using server = url !== undefined ? null : await startServer(version, areSlow);
  const where = server === null
    ? "the PostgreSQL of DATABASE_URL"
    : `PostgreSQL ${server.version} (embedded)`;
  await say(`Testing on ${where}.`);
  const ends = [];
  for (const runs of areSlow ? slowRuns(files) : [quickRuns(files, version !== undefined)]) {
    const run = ({ files, atOnce }: DenoTest) =>
      denoTest(server?.url ?? url ?? "", { files: [...args, ...files], atOnce });
    ends.push(...await Promise.all(runs.map(run)));
  }
  const summaries = ends.flatMap(({ summary }) => summary ?? []);
  const code = ends.find(({ code }) => code !== 0)?.code ?? 0;
  const sum = (count: "passed" | "failed" | "ignored") =>
    summaries.reduce((total, summary) => total + summary[count], 0);
  await say(
    summaries.length < ends.length
      ? `The tests on ${where} did not get to their end (exit code ${code}).`
      : `Tests on ${where}: ${sum("passed")} passed, ${sum("failed")} failed, ${sum("ignored")} ignored`,
  );
  return code;
}

/** At the same time. Most wait for other processes and for deadlines. */
function quickRuns(files: readonly string[], isMatrix: boolean): DenoTest[] {
  const longest = files.filter((file) => LONGEST.test(file));
  const others = files.filter((file) => !longest.includes(file));
  const runs: DenoTest[] = [{ files: others, atOnce: isMatrix ? MATRIX_FILES_AT_ONCE : FILES_AT_ONCE }];
  return longest.length > 0 ? [...runs, { files: longest, atOnce: longest.length }] : runs;
}

/** One after the other. Most slow ones measure, and each of those has the machine for itself. */
function slowRuns(files: readonly string[]): DenoTest[][] {
  const beside = SLOW_AT_ONCE.map((pattern) => files.filter((file) => pattern.test(file)));
  const alone = files.filter((file) => !beside.some((group) => group.includes(file)));
  const runs = beside.filter((group) => group.length > 0)
    .map((group): DenoTest[] => [{ files: group, atOnce: FILES_AT_ONCE }]);
  return alone.length > 0 || runs.length === 0 ? [...runs, [{ files: alone, atOnce: null }]] : runs;
}

/**
 * Starts the server of a run, its files in memory where there is room: most of what the tests ask of a disk is to make
 * thousands of tables and to drop them. Those that measure, the slow ones, do so on a disk.
 */
async function startServer(version: string | undefined, areSlow: boolean): Promise<EmbeddedPostgres> {
  const before = Deno.env.get("TMPDIR");
  if (!areSlow && before === undefined && hasRoom(MEMORY_FOLDER)) Deno.env.set("TMPDIR", MEMORY_FOLDER);
  try {
    return await startEmbedded({
      ephemeral: true,
      ...(version === undefined ? {} : { version }),
      settings: { max_connections: "300" },
    });
  } finally {
    // Deno lets nobody whose rights to read are listed read there, so the tests' own files are elsewhere.
    if (before === undefined) Deno.env.delete("TMPDIR");
  }
}

function hasRoom(folder: string): boolean {
  try {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize >= MEMORY_BYTES_MIN;
  } catch {
    return false; // This system has no such folder.
  }
}

/** One process of `deno test`. */
interface DenoTest {
  /** Files, folders, and flags before them. */
  readonly files: readonly string[];
  /** How many files run at the same time; null for one after the other in one thread. */
  readonly atOnce: number | null;
}

async function denoTest(
  url: string,
  { files, atOnce }: DenoTest,
): Promise<{ code: number; summary: Summary | null }> {
  const child = new Deno.Command(Deno.execPath(), {
    // Types are checked by `deno task check`.
    args: ["test", "--allow-all", "--no-check", ...(atOnce === null ? [] : ["--parallel"]), ...files],
    cwd: root,
    env: {
      DATABASE_URL: url,
      DENO_JOBS: Deno.env.get("DENO_JOBS") ?? String(atOnce ?? 1),
      ...(Deno.stdout.isTerminal() && !Deno.noColor ? { FORCE_COLOR: "1" } : {}),
    },
    stdin: "null",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const pass = () => child.kill("SIGTERM");
  const ignore = () => {}; // Ctrl-C reaches the child by itself; the server must be stopped after it.
  Deno.addSignalListener("SIGTERM", pass);
  Deno.addSignalListener("SIGINT", ignore);
  const summary = await passThrough(child.stdout, (minutes) => {
    // A test that hangs must fail, and say which one it was; `deno test` itself would wait for ever.
    if (minutes >= HUNG_AFTER_MINUTES) child.kill("SIGKILL");
  });
  const { code } = await child.status;
  Deno.removeSignalListener("SIGTERM", pass);
  Deno.removeSignalListener("SIGINT", ignore);
  return { code, summary };
}

/** Writes the output on as it comes, reads the summary from its end, and tells for how long a slow test has run. */
async function passThrough(
  stream: ReadableStream<Uint8Array>,
  onRunningFor: (minutes: number) => void,
): Promise<Summary | null> {
  const decoder = new TextDecoder();
  let tail = "";
  for await (const chunk of stream) {
    await writeAll(chunk);
    const text = decoder.decode(chunk, { stream: true });
    const running = /has been running for over \((\d+)m/.exec(text);
    if (running !== null) onRunningFor(Number(running[1]));
    tail = (tail + text).slice(-64 * 1024);
  }
  return readSummary(tail);
}

async function testFiles(): Promise<string[]> {
  const found: string[] = [];
  const walk = async (folder: string): Promise<void> => {
    for await (const entry of Deno.readDir(root + folder)) {
      if (entry.name.startsWith(".") || entry.name === "node_modules") continue;
      if (entry.isDirectory) await walk(`${folder}${entry.name}/`);
      else if (entry.name.endsWith("_test.ts")) found.push(folder + entry.name);
    }
  };
  await walk("");
  return found.sort();
}

async function sayMissing(files: readonly string[]): Promise<void> {
  const folders = [...(Deno.env.get("PATH") ?? "").split(":"), "/usr/sbin"];
  for (const { names, tests, get } of PROGRAMS) {
    if (!files.some((file) => tests.test(file))) continue;
    if (names.some((name) => folders.some((folder) => exists(`${folder}/${name}`)))) continue;
    await say(`${names[0]} is missing, its tests are left out. To get it: ${get}`);
  }
}

function isSlow(file: string): boolean {
  return file.endsWith("_slow_test.ts");
}

function exists(path: string): boolean {
  try {
    Deno.statSync(path);
    return true;
  } catch {
    return false;
  }
}

function say(line: string): Promise<void> {
  return writeAll(new TextEncoder().encode(`${line}\n`));
}

async function writeAll(bytes: Uint8Array): Promise<void> {
  for (let written = 0; written < bytes.length;) written += await Deno.stdout.write(bytes.subarray(written));
}

if (import.meta.main) Deno.exit(await main(Deno.args));
