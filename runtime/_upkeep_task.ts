import { errorText } from "../ports/error_text.ts";
import type { Log } from "../ports/log.ts";
import type { UpkeepReport, UpkeepTask, UpkeepTaskOptions } from "../ports/upkeep.ts";

/** The pauses between two lines of the log on one failing task, in ms. */
const TELL_MS_MIN = 60_000;
const TELL_MS_MAX = 60 * 60_000;

/** What fails for longer than this, in ms, is no moment's trouble: a person should look. */
const ERROR_AFTER_MS = 5 * 60_000;

/** The longest error that is kept, in characters. */
const ERROR_LENGTH_MAX = 1000;

/** A row of failures. Times are by the task's own clock. */
interface Failures {
  count: number;
  readonly firstAt: number;
  lastAt: number;
  error: string;
}

/** What a {@linkcode TaskRecord} needs. */
export interface TaskRecordOptions extends UpkeepTaskOptions {
  /** The task's name. */
  readonly name: string;
  /** Told when it begins to fail, and when it works again. */
  readonly onTurn: () => void;
  /** For people. */
  readonly log: Log;
  /** Its clock, in ms. Default `performance.now`. */
  readonly now?: () => number;
}

/** One task of one process: how it went since the last report. */
export class TaskRecord implements UpkeepTask {
  readonly #options: TaskRecordOptions;
  readonly #now: () => number;
  #successAt: number | null = null;
  /** Without a success since, over all reports: for the log. */
  #row: Failures | null = null;
  /** The part of them that is not reported yet. */
  #unreported: Failures | null = null;
  #tellAt = 0;
  #tellMs = 0;

  /** Has not been done yet. */
  constructor(options: TaskRecordOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
  }

  /** Its name. */
  get name(): string {
    return this.#options.name;
  }

  /** How often it should go well, in ms. */
  get everyMs(): number {
    return this.#options.everyMs;
  }

  /** Whether every process does it for itself. */
  get isEveryones(): boolean {
    return this.#options.scope === "process";
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    try {
      const result = await work();
      this.succeeded();
      return result;
    } catch (error) {
      this.failed(error);
      throw error;
    }
  }

  succeeded(): void {
    this.#successAt = this.#now();
    if (this.#row === null) return;
    const { count, firstAt } = this.#row;
    this.#options.log.info("upkeep works again", {
      task: this.name,
      failures: count,
      failedForMs: Math.round(this.#successAt - firstAt),
    });
    this.#row = null;
    this.#unreported = null;
    this.#options.onTurn();
  }

  failed(error: unknown, { told = false }: { readonly told?: boolean } = {}): void {
    const now = this.#now();
    const text = errorText(error).slice(0, ERROR_LENGTH_MAX);
    const isFirst = this.#row === null;
    this.#row = added(this.#row, now, text);
    this.#unreported = added(this.#unreported, now, text);
    if (!told) this.#tell(isFirst, now, this.#row);
    if (isFirst) this.#options.onTurn();
  }

  /** What is to be reported; null when nothing has happened. */
  report(owner: string, process: string): UpkeepReport | null {
    const failed = this.#unreported;
    if (this.#successAt === null && failed === null && (this.#row === null || !this.isEveryones)) return null;
    const now = this.#now();
    return {
      task: this.name,
      owner: this.isEveryones ? owner : null,
      process,
      successAgoMs: this.#successAt === null ? null : now - this.#successAt,
      failed: failed === null ? null : {
        count: failed.count,
        firstAgoMs: now - failed.firstAt,
        lastAgoMs: now - failed.lastAt,
        error: failed.error,
      },
    };
  }

  /** A report was stored. What has happened since it was made is kept for the next one. */
  reported({ failed }: UpkeepReport, madeAt: number): void {
    // A success since has ended what the report told of.
    if (this.#successAt !== null && this.#successAt > madeAt) return;
    this.#successAt = null;
    if (this.#unreported === null || failed === null) return;
    const count = this.#unreported.count - failed.count;
    this.#unreported = count > 0 ? { ...this.#unreported, count, firstAt: madeAt } : null;
  }

  #tell(isFirst: boolean, now: number, { count, firstAt, error }: Failures): void {
    const { log, failing } = this.#options;
    const failingForMs = Math.round(now - firstAt);
    const fields = { ...this.#options.fields, task: this.name, error, failures: count, failingForMs };
    if (!isFirst && now < this.#tellAt) {
      log.debug(failing, fields);
      return;
    }
    this.#tellMs = isFirst ? TELL_MS_MIN : Math.min(this.#tellMs * 2, TELL_MS_MAX);
    this.#tellAt = now + this.#tellMs;
    log[now - firstAt >= ERROR_AFTER_MS ? "error" : "warn"](failing, fields);
  }
}

function added(failures: Failures | null, now: number, error: string): Failures {
  return { count: (failures?.count ?? 0) + 1, firstAt: failures?.firstAt ?? now, lastAt: now, error };
}
