import { eventually } from "../../conformance/eventually.ts";

/** One request as it arrived. */
export interface Received {
  /** Its path. */
  readonly path: string;
  /** Its headers. */
  readonly headers: Headers;
  /** Its body's bytes. */
  readonly body: Uint8Array<ArrayBuffer>;
  /** Its body as text. */
  readonly text: string;
  /** When it arrived, by `performance.now()`. */
  readonly at: number;
}

/** What a receiver answers to its request number `count` (1 is the first). */
export type Answer = (received: Received, count: number) => Response | Promise<Response>;

/** A real server on a real socket that keeps what it gets. */
export class Receiver implements AsyncDisposable {
  /** What it got, in order. */
  readonly got: Received[] = [];
  /** What it answers from now on. Default 204. */
  answer: Answer = () => new Response(null, { status: 204 });
  readonly #server: Deno.HttpServer<Deno.NetAddr>;
  readonly #scheme: string;
  readonly #host: string;

  /** Starts on 127.0.0.1; with a certificate over TLS, under that name. */
  constructor(tls?: { readonly cert: string; readonly key: string; readonly host: string }) {
    this.#scheme = tls === undefined ? "http" : "https";
    this.#host = tls?.host ?? "127.0.0.1";
    const options = {
      hostname: "127.0.0.1",
      port: 0,
      onListen: () => {},
      ...(tls === undefined ? {} : { cert: tls.cert, key: tls.key }),
    };
    this.#server = Deno.serve(options, async (request) => {
      const body = await request.bytes();
      const text = new TextDecoder().decode(body);
      const { pathname: path } = new URL(request.url);
      const received = { path, headers: request.headers, body, text, at: performance.now() };
      this.got.push(received);
      return await this.answer(received, this.got.length);
    });
  }

  /** Its URL. */
  get url(): string {
    return `${this.#scheme}://${this.#host}:${this.#server.addr.port}/hook`;
  }

  /** Waits until it has got so many requests. */
  async until(count: number): Promise<void> {
    await eventually(() => this.got.length >= count, 30_000).catch((error) => {
      throw new Error(`got ${this.got.length} of ${count} requests`, { cause: error });
    });
  }

  /** Ends it, whatever is still open. */
  async [Symbol.asyncDispose](): Promise<void> {
    const late = new Promise((resolve) => setTimeout(resolve, 200));
    await Promise.race([this.#server.shutdown(), late]);
  }
}
