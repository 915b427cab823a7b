import { errorText } from "../ports/error_text.ts";
import type { Log } from "../ports/log.ts";
import type { Store } from "../ports/store.ts";
import type {
  Upkeep,
  UpkeepOverview,
  UpkeepReport,
  UpkeepRow,
  UpkeepTask,
  UpkeepTaskOptions,
} from "../ports/upkeep.ts";
import { withReport } from "../shared/upkeep_report.ts";
import { Ticker } from "./_ticker.ts";
import { TaskRecord } from "./_upkeep_task.ts";

/** How often a process reports how its tasks go, in ms, and the least pause when one begins or ceases to fail. */
const REPORT_MS = 60_000;
const REPORT_MS_MIN = 500;

/** A task is overdue after so many times its interval, and a minute. */
const OVERDUE_INTERVALS = 3;
const OVERDUE_MS_MIN = 60_000;

/**
 * Records how the upkeep of a process goes, reports it to the store once a minute and when a task begins or ceases to fail,
 * and tells of all processes' together. While nothing can be stored, the process tells at least of its own.
 */
export class UpkeepRecords implements Upkeep {
  readonly #log: Log;
  readonly #tasks = new Map<string, TaskRecord>();
  /** Of this start of the process; the id on the record of processes may change under way. */
  readonly #id: string = crypto.randomUUID();
  #process = "";
  #reports: Ticker | undefined;
  #reportedAt = -Infinity;
  #turned = false;

  /** Knows no tasks yet. */
  constructor(log: Log) {
    this.#log = log;
  }

  task(name: string, options: UpkeepTaskOptions): UpkeepTask {
    let task = this.#tasks.get(name);
    if (task === undefined) {
      task = new TaskRecord({ ...options, name, log: this.#log, onTurn: () => this.#turn() });
      this.#tasks.set(name, task);
    }
    return task;
  }

  /** Begins to report to a store, under the process's name. */
  start(store: Store, process: string): void {
    this.#process = process;
    this.#reports ??= new Ticker({
      everyMs: REPORT_MS,
      run: () => this.#report(store),
      onError: (error) => this.#log.debug("upkeep not reported, trying again", { error: errorText(error) }),
    });
    this.#reports.start();
  }

  /** Ends after the present report. */
  async stop(): Promise<void> {
    await this.#reports?.stop();
  }

  /** How every task goes: what is stored, and what this process has not reported yet. */
  async overview(store: Store): Promise<UpkeepOverview[]> {
    const { nowMs, rows } = await store.upkeep();
    const byTask = new Map<string, UpkeepRow[]>([...this.#tasks.keys()].map((name) => [name, []]));
    for (const row of rows) byTask.set(row.task, [...byTask.get(row.task) ?? [], row]);
    for (const report of this.#unreported()) {
      const stored = byTask.get(report.task)!;
      const place = stored.findIndex(({ owner }) => owner === report.owner);
      const row = withReport(stored[place], report, nowMs);
      if (place === -1) stored.push(row);
      else stored[place] = row;
    }
    return [...byTask].sort(([one], [other]) => one < other ? -1 : 1)
      .map(([name, each]) => overviewOf(name, each, nowMs, this.#tasks.get(name)?.everyMs ?? null));
  }

  #turn(): void {
    this.#turned = true;
    this.#reports?.wake();
  }

  async #report(store: Store): Promise<number | void> {
    const now = performance.now();
    if (now < this.#reportedAt + REPORT_MS_MIN) return this.#reportedAt + REPORT_MS_MIN - now;
    this.#reportedAt = now;
    this.#turned = false;
    const reports = this.#unreported();
    if (reports.length > 0) {
      await store.reportUpkeep(reports);
      for (const report of reports) this.#tasks.get(report.task)!.reported(report, now);
    }
    return this.#turned ? REPORT_MS_MIN : undefined;
  }

  #unreported(): UpkeepReport[] {
    return [...this.#tasks.values()].map((task) => task.report(this.#id, this.#process)).filter((each) =>
      each !== null
    );
  }
}

/** The last success of any, the worst row of failures. */
function overviewOf(
  task: string,
  rows: readonly UpkeepRow[],
  nowMs: number,
  everyMs: number | null,
): UpkeepOverview {
  // An instant to come is not known: the store's clock was ahead when it was stored.
  const passed = (ms: number | null): ms is number => ms !== null && ms <= nowMs + OVERDUE_MS_MIN;
  const lastSuccessMs = latest(rows.map((row) => row.lastSuccessMs).filter(passed));
  const [worst] = rows.toSorted((one, other) =>
    other.failuresInARow - one.failuresInARow || (other.lastErrorMs ?? 0) - (one.lastErrorMs ?? 0)
  );
  const lastErrorMs = worst?.lastErrorMs ?? null;
  const failingSinceMs = worst?.failingSinceMs ?? null;
  const doneMs = latest([lastSuccessMs, lastErrorMs].filter(passed));
  return {
    task,
    lastSuccessAt: iso(lastSuccessMs),
    lastErrorAt: iso(lastErrorMs),
    lastError: worst?.lastError ?? null,
    lastErrorIn: worst?.lastErrorIn ?? null,
    failingSince: iso(failingSinceMs),
    failingForMs: failingSinceMs === null ? 0 : Math.max(0, nowMs - failingSinceMs),
    failuresInARow: worst?.failuresInARow ?? 0,
    overdue: everyMs !== null && doneMs !== null &&
      nowMs - doneMs > OVERDUE_INTERVALS * everyMs + OVERDUE_MS_MIN,
  };
}

function latest(times: readonly number[]): number | null {
  return times.length === 0 ? null : Math.max(...times);
}

function iso(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}
