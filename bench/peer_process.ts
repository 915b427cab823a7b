import { PeerError } from "./peer_error.ts";

/** How a peer's program is started. */
export interface Program {
  /** The program. */
  readonly command: string;
  /** Its arguments. */
  readonly args: readonly string[];
  /** Where it runs. Default where the benchmarks run. */
  readonly cwd?: string;
}

/** What an answer's line begins with: libraries print lines of their own. */
const MARK = "@@ ";
const OUTPUT_KEPT = 4000;

/** A peer's program, running: commands go in as lines of JSON, answers come out. */
export class PeerProcess implements AsyncDisposable {
  readonly #child: Deno.ChildProcess;
  readonly #writer: WritableStreamDefaultWriter<Uint8Array>;
  readonly #lines: AsyncIterator<string>;
  #output = "";
  readonly #errors: Promise<void>;

  /** Starts it. */
  constructor(program: Program) {
    this.#child = new Deno.Command(program.command, {
      args: [...program.args],
      ...(program.cwd === undefined ? {} : { cwd: program.cwd }),
      stdin: "piped",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    this.#writer = this.#child.stdin.getWriter();
    this.#lines = lines(this.#child.stdout);
    this.#errors = this.#keepErrors();
  }

  /** Its process id. */
  get pid(): number {
    return this.#child.pid;
  }

  /**
   * Has it do something. Null when it can't.
   *
   * @throws {PeerError} it failed, with what it had printed.
   */
  async call<T>(method: string, params: unknown = {}): Promise<T | null> {
    await this.#writer.write(new TextEncoder().encode(JSON.stringify({ method, params }) + "\n"));
    while (true) {
      const { value: line, done } = await this.#lines.next();
      if (done) throw new PeerError(`The program ended during "${method}"`, this.#output);
      if (!line.startsWith(MARK)) {
        this.#keep(line + "\n");
        continue;
      }
      const answer = JSON.parse(line.slice(MARK.length)) as {
        value?: T;
        error?: string;
        unsupported?: boolean;
      };
      if (answer.error !== undefined) {
        throw new PeerError(`"${method}" failed: ${answer.error}`, this.#output);
      }
      return answer.unsupported === true ? null : answer.value ?? {} as T;
    }
  }

  /** Kills it, whatever it does. */
  kill(): void {
    this.#child.kill("SIGKILL");
  }

  /** Ends its input, by which it ends. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#writer.close().catch(() => {});
    await this.#lines.return?.();
    await Promise.all([this.#child.status, this.#errors]);
  }

  async #keepErrors(): Promise<void> {
    const decoder = new TextDecoder();
    for await (const chunk of this.#child.stderr) this.#keep(decoder.decode(chunk, { stream: true }));
  }

  #keep(text: string): void {
    this.#output = (this.#output + text).slice(-OUTPUT_KEPT);
  }
}

async function* lines(stream: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  let rest = "";
  for await (const chunk of stream.pipeThrough(new TextDecoderStream())) {
    const parts = (rest + chunk).split("\n");
    rest = parts.pop()!;
    yield* parts;
  }
}
