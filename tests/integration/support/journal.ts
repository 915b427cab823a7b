/** What a handler wrote down of one of its runs. */
export interface Entry {
  /** `start` or `end`. */
  readonly event: string;
  /** The job. */
  readonly id: string;
  /** Which try. */
  readonly attempt: number;
  /** The process that the handler runs in. */
  readonly pid: number;
  /** When, ms since the epoch. */
  readonly at: number;
  /** What its args say of it. */
  readonly mark: string | null;
}

/** A file that handlers of all processes append to: what really happened, whatever the database says. */
export class Journal implements AsyncDisposable {
  private constructor(
    /** Where it is; handlers get it in their args. */
    readonly path: string,
  ) {}

  /** Makes an empty one. */
  static async open(): Promise<Journal> {
    return new Journal(await Deno.makeTempFile({ prefix: "millrace_journal_" }));
  }

  /** All entries so far, in the order in which they were written. */
  entries(): Entry[] {
    const lines = Deno.readTextFileSync(this.path).split("\n").slice(0, -1);
    return lines.map((line) => JSON.parse(line));
  }

  /** The starts, of one job or of all. */
  starts(id?: string): Entry[] {
    return this.entries().filter((entry) => entry.event === "start" && (id === undefined || entry.id === id));
  }

  /** The ends, of one job or of all. */
  ends(id?: string): Entry[] {
    return this.entries().filter((entry) => entry.event === "end" && (id === undefined || entry.id === id));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Deno.remove(this.path);
  }
}
