import type { Ending, Line } from "../journal.ts";
import type { EventRow, Evidence, JobRow } from "./evidence.ts";
import { Spans } from "./spans.ts";

/** One run of a handler, as the journal tells it. Places are indexes of lines: they order what happened. */
export interface Execution {
  readonly execution: string;
  readonly id: string;
  readonly kind: string;
  readonly attempt: number;
  readonly pid: number;
  readonly runtime: number;
  /** Where its first line is, and when that was. */
  readonly start: number;
  readonly startAt: number;
  /** Its last line: so long it certainly ran. */
  last: number;
  lastAt: number;
  /** How it ended, if it came so far. */
  ending: Ending | null;
}

/** Something that happened to a process. */
export interface Mark {
  readonly place: number;
  readonly at: number;
}

/** The evidence, arranged for questions. */
export class History {
  readonly evidence: Evidence;
  readonly jobs: ReadonlyMap<string, JobRow>;
  readonly events: ReadonlyMap<string, EventRow>;
  /** By job, in the order of their starts. */
  readonly executions: Map<string, Execution[]> = new Map();
  readonly byName: Map<string, Execution> = new Map();
  /** By process id. */
  readonly kills: Map<number, Mark> = new Map();
  readonly leaves: Map<number, Mark> = new Map();
  readonly deaths: Map<number, Mark & { readonly why: string; readonly started: boolean }> = new Map();
  readonly starts: Map<number, Mark> = new Map();
  /** By job, the places of a person's retries, and of cancels with their results. */
  readonly retries: Map<string, number[]> = new Map();
  readonly cancels: Map<string, { readonly place: number; readonly result: string }[]> = new Map();
  /** The jobs that a person has tried to cancel, whatever became of it. */
  readonly cancelling: Set<string> = new Set();
  /** By endpoint: when it was disabled, or may have been. */
  readonly disabled: Spans<string> = new Spans();
  /** The endpoints for which a redelivery broke off. */
  readonly brokenOff: Set<string> = new Set();
  /** The endpoints of which a person has skipped deliveries, or may have. */
  readonly skipped: Set<string> = new Set();
  /** By process, null for all: when it could do nothing or reach nothing. */
  readonly #outages = new Spans<number | null>();
  /** The same: when something of its connections broke. */
  readonly #disturbed = new Spans<number | null>();

  constructor(evidence: Evidence) {
    this.evidence = evidence;
    this.jobs = new Map(evidence.jobs.map((job) => [job.id, job]));
    this.events = new Map(evidence.events.map((event) => [event.id, event]));
    evidence.lines.forEach((line, place) => this.#read(line, place));
  }

  /** The executions of a job. */
  of(id: string): readonly Execution[] {
    return this.executions.get(id) ?? [];
  }

  /** How often a person retried a job. */
  retriesOf(id: string): number {
    return this.retries.get(id)?.length ?? 0;
  }

  /** For how many ms within a time a process could do nothing or reach nothing, through a fault of its own. */
  outMs(pid: number, fromAt: number, toAt: number): number {
    return this.#outages.ms(pid, fromAt, toAt);
  }

  /** Whether anything came between a process and the database within a time. */
  wasDisturbed(pid: number, fromAt: number, toAt: number): boolean {
    return [this.#outages, this.#disturbed].some((spans) =>
      spans.touch(pid, fromAt, toAt) || spans.touch(null, fromAt, toAt)
    );
  }

  /**
   * Whether others may have taken a process for dead within a time. It is so a heartbeat before the time is over; half of
   * it is asked for, because the machine is loaded and two outages may follow one another.
   */
  mayBeTakenForDead(pid: number, fromAt: number, toAt: number): boolean {
    const { lostAfterMs } = this.evidence;
    return this.outMs(pid, fromAt - 2 * lostAfterMs, toAt) >= lostAfterMs / 2;
  }

  /** How many executions began while another one of the same job went on. */
  duplicates(): number {
    let count = 0;
    for (const executions of this.executions.values()) {
      count += executions.filter((later, index) =>
        executions.slice(0, index).some((earlier) =>
          earlier.last >= later.start
        )
      ).length;
    }
    return count;
  }

  /** What the journal tells of a job, for a person. */
  tell(id: string): string[] {
    const executions = new Set(this.of(id).map(({ execution }) => execution));
    const processes = new Set(this.of(id).flatMap(({ pid, runtime }) => [pid, runtime]));
    const from = this.of(id)[0]?.start ?? 0;
    const told = this.evidence.lines.filter((line, place) => {
      if ("execution" in line) return executions.has(line.execution) && line.what !== "alive";
      if ("id" in line) return line.id === id;
      return place >= from && "pid" in line && (line.pid === null || processes.has(line.pid));
    });
    return told.map(lineText);
  }

  /** What the tables say of the deliveries of a job's event, for a person. */
  tellDeliveries(id: string): string[] {
    const event = this.jobs.get(id)?.event ?? null;
    if (event === null) return [];
    return this.evidence.deliveries.filter((each) => each.event === event).map((each) =>
      JSON.stringify(each)
    );
  }

  /** What the journal tells of an event, for a person. */
  tellEvent(id: string): string[] {
    return this.evidence.lines.filter((line) => "event" in line && line.event === id).map(lineText);
  }

  #read(line: Line, place: number): void {
    const { at } = line;
    switch (line.what) {
      case "start": {
        const { execution, id, kind, attempt, pid, runtime } = line;
        const begun: Execution = {
          ...{ execution, id, kind, attempt, pid, runtime },
          ...{ start: place, startAt: at, last: place, lastAt: at, ending: null },
        };
        this.byName.set(execution, begun);
        push(this.executions, id, begun);
        break;
      }
      case "alive":
      case "end": {
        const known = this.byName.get(line.execution);
        if (known === undefined) break;
        known.last = place;
        known.lastAt = at;
        if (line.what === "end") known.ending = line.how;
        break;
      }
      case "kill":
        this.kills.set(line.pid, { place, at });
        break;
      case "stop":
      case "recycle":
        if (!this.leaves.has(line.pid)) this.leaves.set(line.pid, { place, at });
        break;
      case "starting":
        this.starts.set(line.pid, { place, at });
        break;
      case "died":
        this.deaths.set(line.pid, { place, at, why: line.why, started: line.started });
        break;
      case "out":
        this.#outages.open(line.pid, at);
        break;
      case "back":
        this.#outages.close(line.pid, at);
        break;
      case "stall":
        this.#outages.add(line.pid, at - line.ms, at);
        break;
      case "disturbed":
        this.#disturbed.add(line.pid, at, at);
        break;
      case "disabling":
        this.disabled.open(line.endpoint, at);
        break;
      case "enabled":
        this.disabled.closeAll(line.endpoint, at);
        break;
      case "redelivery broke off":
        this.brokenOff.add(line.endpoint);
        break;
      case "skipping":
        this.skipped.add(line.endpoint);
        break;
      case "cancelling":
        this.cancelling.add(line.id);
        break;
      case "retry":
        push(this.retries, line.id, place);
        break;
      case "cancel":
        push(this.cancels, line.id, { place, result: line.result });
    }
  }
}

function lineText(line: Line): string {
  return JSON.stringify({ ...line, at: new Date(line.at).toISOString() });
}

function push<K, V>(map: Map<K, V[]>, key: K, value: V): void {
  const list = map.get(key);
  if (list === undefined) map.set(key, [value]);
  else list.push(value);
}
