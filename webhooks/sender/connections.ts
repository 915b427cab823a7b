import { Connection } from "./connection.ts";
import { dial } from "./dial.ts";

/** Where a request goes. */
export interface Destination {
  /** Scheme, host name and port. */
  readonly origin: string;
  /** Addresses that were checked, the first to be tried first. */
  readonly addresses: readonly string[];
  /** The port. */
  readonly port: number;
  /** The name, or the address, that the certificate is verified against; null for no TLS. */
  readonly serverName: string | null;
}

/** How long after the sockets were read they need not be looked at again, in ms: less than what a network takes. */
const LOOK_MS = 1;
/** More than a process usually has under way: a new connection costs several requests on a kept one. */
const IDLE_PER_ADDRESS_MAX = 128;
/** A process may have 1,024 files open where nobody has raised that, and needs some for other things. */
const IDLE_MAX = 500;
/** How long an address that another one has outrun is tried last, in ms. */
const OUTRUN_MS = 60_000;
/** How long a receiver that has spoken unasked gets a connection of its own for each request, in ms. */
const UNASKED_MS = 600_000;

/**
 * Kept connections. One is used again for the same scheme, host name, port and address alone: what an answer is about is
 * known by nothing but the connection that it comes on.
 */
export class Connections {
  readonly #idle = new Map<string, Connection[]>();
  readonly #outrun = new Marks(OUTRUN_MS);
  readonly #unasked = new Marks(UNASKED_MS);
  #idleCount = 0;
  #readAt = -Infinity;
  #isClosed = false;

  /**
   * One that is idle, and whose socket has been looked at since; null without one. What has come on it meanwhile, be it
   * its end, has ended it.
   */
  async takeIdle(destination: Destination): Promise<Connection | null> {
    const [address] = this.#order(destination);
    const name = nameOf(destination.origin, address!);
    for (let idle = this.#pop(name); idle !== undefined; idle = this.#pop(name)) {
      if (performance.now() - this.#readAt > LOOK_MS) await sockets();
      if (this.#unasked.has(destination.origin)) idle.close();
      if (idle.isOpen) return idle;
    }
    return null;
  }

  /** A new one. Rejects with why there is none, or with the signal's reason. */
  async open(destination: Destination, signal: AbortSignal): Promise<Connection> {
    const addresses = this.#order(destination);
    const dialled = await dial({ ...destination, addresses }, signal);
    for (const address of addresses.slice(0, addresses.indexOf(dialled.address))) {
      this.#outrun.add(nameOf(destination.origin, address));
    }
    return new Connection(destination.origin, dialled, {
      ended: (connection) => this.#ended(connection),
      read: () => this.#readAt = performance.now(),
      spokeUnasked: ({ origin }) => this.#unasked.add(origin),
    });
  }

  /** Keeps a connection whose answer was read whole. */
  keep(connection: Connection): void {
    const { origin, address } = connection;
    const name = nameOf(origin, address);
    const idle = this.#idle.get(name) ?? [];
    const isFull = this.#idleCount >= IDLE_MAX || idle.length >= IDLE_PER_ADDRESS_MAX;
    if (this.#isClosed || isFull || !connection.isReusable || this.#unasked.has(origin)) {
      return connection.close();
    }
    idle.push(connection);
    this.#idle.set(name, idle);
    this.#idleCount++;
  }

  /** Closes what is idle, and keeps nothing from now on: whatever is under way goes on, and closes at its end. */
  close(): void {
    this.#isClosed = true;
    for (const connection of [...this.#idle.values()].flat()) connection.close();
  }

  #order({ origin, addresses }: Destination): readonly string[] {
    const isOutrun = (address: string): number => Number(this.#outrun.has(nameOf(origin, address)));
    return addresses.length < 2
      ? addresses
      : addresses.toSorted((one, other) => isOutrun(one) - isOutrun(other));
  }

  #pop(name: string): Connection | undefined {
    const idle = this.#idle.get(name);
    const connection = idle?.pop();
    if (connection !== undefined) this.#idleCount--;
    if (idle?.length === 0) this.#idle.delete(name);
    return connection;
  }

  #ended(connection: Connection): void {
    const name = nameOf(connection.origin, connection.address);
    const idle = this.#idle.get(name);
    const at = idle?.indexOf(connection) ?? -1;
    if (idle === undefined || at === -1) return;
    idle.splice(at, 1);
    this.#idleCount--;
    if (idle.length === 0) this.#idle.delete(name);
  }
}

const MARKS_MAX = 1000;

/** Names that are remembered for a while, a bounded number of them. */
class Marks {
  readonly #ms: number;
  readonly #until = new Map<string, number>();

  constructor(ms: number) {
    this.#ms = ms;
  }

  add(name: string): void {
    if (this.#until.size >= MARKS_MAX) this.#until.clear();
    this.#until.set(name, performance.now() + this.#ms);
  }

  has(name: string): boolean {
    const until = this.#until.get(name);
    if (until === undefined) return false;
    if (until > performance.now()) return true;
    this.#until.delete(name);
    return false;
  }
}

/** How often the event loop goes round before what had arrived on the sockets has surely been read. */
const TURNS = 2;

/**
 * Resolves when what had arrived on the sockets has been read. In Deno setImmediate comes round before the sockets are
 * looked at, and a timer after that, except for a timer that is due by the time the loop waits: then it takes another turn.
 */
async function sockets(): Promise<void> {
  for (let turn = 0; turn < TURNS; turn++) {
    await new Promise<void>((resolve) => void setTimeout(() => setImmediate(resolve), 0));
  }
}

function nameOf(origin: string, address: string): string {
  return `${origin} ${address}`;
}
