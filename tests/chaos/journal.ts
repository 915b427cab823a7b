/**
 * What really happened, whatever the database says. All processes of a run append to one file, each line with one
 * write, so the order of the lines is the order of what they tell: no clock is compared with another.
 *
 * @module
 */

import { AHEAD_VARIABLE } from "./hour_ahead.ts";

/** Where the journal is, for every process of a run. */
export const JOURNAL_VARIABLE = "CHAOS_JOURNAL";

/** How a handler ended, in its own words, written just before it does. */
export type Ending =
  | "return"
  | "throw"
  | "snooze"
  | "discard"
  | "exit"
  | "reject"
  | "timer"
  | "allocate"
  | "spin"
  | "hang"
  | "bomb";

/** One thing that happened. */
export type Event =
  /** A handler begins. `runtime` is the worker program, which is not `pid` where the handler is in a host process. */
  | {
    readonly what: "start";
    readonly execution: string;
    readonly id: string;
    readonly kind: string;
    readonly attempt: number;
    readonly pid: number;
    readonly runtime: number;
  }
  /** It is still there. Written all the time, so that the last line tells how long it certainly ran. */
  | { readonly what: "alive"; readonly execution: string }
  /** It ends in this way with the next instruction. */
  | { readonly what: "end"; readonly execution: string; readonly how: Ending }
  /** It has read which changes of its thing are committed. */
  | { readonly what: "saw"; readonly execution: string; readonly changes: readonly number[] }
  /** A process is about to be killed by the injector, or by its own handler. */
  | { readonly what: "kill"; readonly pid: number; readonly by: string }
  /** A process was told to stop in order. */
  | { readonly what: "stop"; readonly pid: number }
  /** A worker program takes itself down because of a thread that can't be ended. */
  | { readonly what: "recycle"; readonly pid: number }
  /** A worker program was started by its supervisor. */
  | { readonly what: "starting"; readonly pid: number }
  /** It has ended, and nothing says that it was to. `started` is whether it had said that it started. */
  | { readonly what: "died"; readonly pid: number; readonly why: string; readonly started: boolean }
  /** A process can't do anything, or can't reach the database, from here on. `null`: none of them can. */
  | { readonly what: "out"; readonly pid: number | null; readonly why: string }
  /** It can again. */
  | { readonly what: "back"; readonly pid: number | null }
  /** Something broke of what a process has of the database, but it is not cut off. `null`: anybody's. */
  | { readonly what: "disturbed"; readonly pid: number | null; readonly why: string }
  /** The main loop of a worker program stood still for so long, though nobody stopped it. */
  | { readonly what: "stall"; readonly pid: number; readonly ms: number }
  /** The injector did something else. */
  | { readonly what: "fault"; readonly name: string }
  /** An enqueue was acknowledged: the job exists. */
  | { readonly what: "enqueued"; readonly id: string }
  /** A transaction was rolled back after this enqueue. */
  | { readonly what: "rolled back"; readonly id: string }
  /** A record was acknowledged: the event exists. */
  | { readonly what: "recorded"; readonly event: string }
  /** A transaction was rolled back after this record. */
  | { readonly what: "not recorded"; readonly event: string }
  /** A subscriber's handler was given an event. */
  | {
    readonly what: "heard";
    readonly event: string;
    readonly subscriber: string;
    readonly tag: string;
  }
  /** A webhook arrived; `answer` is what it is answered next. */
  | {
    readonly what: "received";
    readonly event: string;
    readonly endpoint: string;
    readonly signature: string;
    readonly answer: string;
  }
  /** A person is about to disable an endpoint, or has enabled it. */
  | { readonly what: "disabling"; readonly endpoint: string }
  | { readonly what: "enabled"; readonly endpoint: string }
  /** A person begins to put deliveries of an endpoint back in line: the discarded ones, or the one that is named. */
  | { readonly what: "redeliver"; readonly endpoint: string; readonly delivery: string | null }
  /** That failed half-way: what is back in line may have no job. */
  | { readonly what: "redelivery broke off"; readonly endpoint: string }
  /** A person is about to give up a delivery to an endpoint. */
  | { readonly what: "skipping"; readonly endpoint: string; readonly delivery: string }
  /** A person's replay was answered. */
  | { readonly what: "replay"; readonly endpoint: string; readonly id: string }
  /** A person's cancel begins; it may fail, and it may have taken effect all the same. */
  | { readonly what: "cancelling"; readonly id: string }
  /** It was answered. */
  | { readonly what: "cancel"; readonly id: string; readonly result: string }
  /** A person's retry begins; it may fail, and it may have taken effect all the same. */
  | { readonly what: "retry"; readonly id: string }
  /** A person ran a periodic; the id is null where the answer was lost. */
  | { readonly what: "run periodic"; readonly name: string; readonly id: string | null }
  /** `wait` told an end. */
  | { readonly what: "waited"; readonly id: string; readonly state: string }
  /** The product answered with an error that its contract does not know. */
  | { readonly what: "odd"; readonly text: string };

/** A line. `at` is when it was written, ms since the epoch. */
export type Line = Event & { readonly at: number };

/** Appends to a journal. */
export class JournalWriter implements Disposable {
  readonly #file: Deno.FsFile;
  readonly #encoder = new TextEncoder();

  /** Opens the file, which is made where it is missing. */
  constructor(path: string) {
    this.#file = Deno.openSync(path, { append: true, create: true });
  }

  /** Writes one line, with one write. */
  write(event: Event): void {
    this.#file.writeSync(this.#encoder.encode(JSON.stringify({ ...event, at: now() }) + "\n"));
  }

  [Symbol.dispose](): void {
    this.#file.close();
  }
}

const aheadMs = Number(Deno.env.get(AHEAD_VARIABLE) ?? 0);

/** One worker's clock is an hour off; this is not. */
function now(): number {
  return Math.round(performance.timeOrigin + performance.now() - aheadMs);
}

/** The journal that the environment names, opened once in each thread. */
let own: JournalWriter | undefined;

/** Writes to the journal of this run. */
export function note(event: Event): void {
  own ??= new JournalWriter(Deno.env.get(JOURNAL_VARIABLE)!);
  own.write(event);
}

/** All lines so far, in the order in which they were written. */
export async function readJournal(path: string): Promise<Line[]> {
  const text = await Deno.readTextFile(path);
  return text.split("\n").slice(0, -1).map((line) => JSON.parse(line));
}
