interface Passage {
  readonly client: Deno.Conn;
  readonly server: Deno.Conn;
}

/** Stands between a program and a database, and does what a network does at its worst. */
export class TcpProxy implements AsyncDisposable {
  readonly #listener: Deno.Listener;
  #target: { hostname: string; port: number };
  readonly #passages = new Set<Passage>();
  readonly #pumps = new Set<Promise<void>>();
  readonly #url: URL;
  #refuses = false;
  #frozen: PromiseWithResolvers<void> | null = null;
  #cutAtAnswer = 0;
  #freezesAtLargeAnswer = false;

  /** Listens on a free port, in front of a database. */
  constructor(url: string) {
    this.#url = new URL(url);
    this.#target = targetOf(this.#url);
    this.#listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    this.#pumps.add(this.#accept());
  }

  /** The database's URL, through here. */
  get url(): string {
    const url = new URL(this.#url);
    url.hostname = "127.0.0.1";
    url.port = String((this.#listener.addr as Deno.NetAddr).port);
    return url.href;
  }

  /** How many connections are open. */
  get open(): number {
    return this.#passages.size;
  }

  /** Connections that are made from now on lead to another database. */
  lead(url: string): void {
    this.#target = targetOf(new URL(url));
  }

  /** Breaks all connections. */
  cut(): void {
    for (const passage of [...this.#passages]) this.#end(passage);
  }

  /** Breaks all connections and takes none. */
  refuse(): void {
    this.#refuses = true;
    this.cut();
  }

  /** Holds back every byte, as a network does that swallows packets. */
  freeze(): void {
    this.#frozen ??= Promise.withResolvers();
  }

  /** The same, from the first answer on that fills a buffer. */
  freezeAtLargeAnswer(): void {
    this.#freezesAtLargeAnswer = true;
  }

  /** Whether bytes are held back. */
  get isFrozen(): boolean {
    return this.#frozen !== null;
  }

  /** Breaks a connection instead of passing on the next `count` answers: what was asked has taken effect. */
  cutAtAnswer(count: number): void {
    this.#cutAtAnswer = count;
  }

  /** All is well again. */
  restore(): void {
    this.#refuses = false;
    this.#cutAtAnswer = 0;
    this.#freezesAtLargeAnswer = false;
    this.#frozen?.resolve();
    this.#frozen = null;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.restore();
    this.#listener.close();
    this.cut();
    await Promise.allSettled(this.#pumps);
  }

  async #accept(): Promise<void> {
    for await (const client of this.#listener) {
      if (this.#refuses) {
        client.close();
        continue;
      }
      try {
        const passage = { client, server: await Deno.connect(this.#target) };
        this.#passages.add(passage);
        this.#pumps.add(this.#pump(passage, "client", "server"));
        this.#pumps.add(this.#pump(passage, "server", "client"));
      } catch {
        client.close();
      }
    }
  }

  async #pump(passage: Passage, from: "client" | "server", to: "client" | "server"): Promise<void> {
    const buffer = new Uint8Array(64 * 1024);
    try {
      for (;;) {
        const size = await passage[from].read(buffer);
        if (size === null) break;
        if (this.#freezesAtLargeAnswer && from === "server" && size === buffer.length) this.freeze();
        await this.#frozen?.promise;
        if (from === "server" && this.#cutAtAnswer > 0) {
          this.#cutAtAnswer--;
          break;
        }
        for (let sent = 0; sent < size;) sent += await passage[to].write(buffer.subarray(sent, size));
      }
    } catch {
      // One of the two has ended.
    }
    this.#end(passage);
  }

  #end(passage: Passage): void {
    if (!this.#passages.delete(passage)) return;
    for (const end of [passage.client, passage.server]) {
      try {
        end.close();
      } catch {
        // It is closed.
      }
    }
  }
}

function targetOf(url: URL): { hostname: string; port: number } {
  return { hostname: url.hostname, port: Number(url.port || 5432) };
}
