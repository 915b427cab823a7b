import type { ChannelObserver, ChannelSubscription } from "../../../ports/database.ts";
import { DatabaseSetupError } from "../../../ports/errors.ts";
import type { Log } from "../../../ports/log.ts";
import { quoteIdentifier } from "../../../shared/identifier.ts";
import { Client, type ClientOptions } from "./client.ts";
import { type NotifyQueue, USAGE } from "./notify_queue.ts";

/** What a listener needs. */
export interface ListenerOptions {
  /** How its connection is made. */
  readonly client: ClientOptions;
  /** Sends a notification over another connection. */
  readonly notify: (channel: string, payload: string) => Promise<void>;
  /** What it finds out about the server's queue of notifications goes there. */
  readonly notifyQueue: NotifyQueue;
  /** Where it tells of gaps. */
  readonly log: Log;
  /** After how long a connection over which nothing arrived is tried again, in ms. Default a minute. */
  readonly probeAgainMs?: number;
  /** How often the connection is looked at, in ms. Default 15,000. */
  readonly checkEveryMs?: number;
}

const PROBE_AGAIN_MS = 60_000;
const RETRY_MS_FIRST = 100;
const RETRY_MS_MAX = 5000;
const PROBE_TIMEOUT_MS = 2000;
const CHECK_INTERVAL_MS = 15_000;

const CHECK = `select current_setting('transaction_read_only') as read_only, ${USAGE} as usage`;

/** The mark of the messages that the listener sends to itself. */
const PROBE = "probe:";

/**
 * Listens to channels over one connection of its own, which it makes again when it breaks; then every observer is
 * told to look for itself, since what was sent in the gap is lost.
 *
 * Behind a transaction pooler LISTEN seems to work and nothing ever arrives. So at its start it sends itself a message
 * over another connection, and when that does not come it says so once, ends the connection, and tries now and then
 * whether it was only a slow moment.
 */
export class Listener {
  readonly #options: ListenerOptions;
  readonly #observers: Map<string, Set<ChannelObserver>> = new Map();
  readonly #probes: Map<string, () => void> = new Map();
  #client: Client | null = null;
  #connecting: Promise<void> | null = null;
  #retry: ReturnType<typeof setTimeout> | undefined;
  #check: ReturnType<typeof setInterval> | undefined;
  #retryMs = RETRY_MS_FIRST;
  /** What the first message to itself has shown. */
  #verdict: "unknown" | "works" | "deaf" = "unknown";
  #gap = false;
  #closed = false;

  /** Connects nothing yet. */
  constructor(options: ListenerOptions) {
    this.#options = options;
  }

  /** Whether messages can arrive: false until the first one did, so always behind a transaction pooler. */
  get listening(): boolean {
    return this.#verdict === "works" && !this.#closed;
  }

  /** Subscribes to a channel. Where the database can't be reached now, listening begins when it can. */
  async subscribe(channel: string, observer: ChannelObserver): Promise<ChannelSubscription> {
    const observers = this.#observers.get(channel) ?? new Set();
    this.#observers.set(channel, observers.add(observer));
    if (this.#client === null) {
      if (this.#verdict !== "deaf") await (this.#connecting ??= this.#connect());
    } else if (observers.size === 1) await this.#listenOn(this.#client, channel, [observer]);
    else if (this.listening) observer.ready();
    const isListening = () => this.listening;
    return {
      get listening(): boolean {
        return isListening();
      },
      close: () => this.#unsubscribe(channel, observer),
    };
  }

  /** The database answers again: what waits for its next try does not wait for long. */
  retrySoon(): void {
    if (this.#closed || this.#retry === undefined || this.#verdict === "deaf") return;
    this.#connectIn(RETRY_MS_FIRST);
  }

  /** Ends the connection and all subscriptions. Idempotent. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    clearTimeout(this.#retry);
    clearInterval(this.#check);
    this.#observers.clear();
    this.#client?.destroy();
    await this.#connecting;
    const client = this.#client;
    this.#client = null;
    await client?.end();
  }

  async #connect(): Promise<void> {
    if (this.#closed) return;
    const client = new Client({
      ...this.#options.client,
      onNotify: (channel, payload) => this.#deliver(channel, payload),
      onClose: () => this.#onClose(client),
    });
    try {
      for (const channel of this.#observers.keys()) {
        await client.run(`listen ${quoteIdentifier(channel)}`, []);
      }
      if (this.#closed) return client.destroy();
      this.#client = client;
      if (this.#verdict !== "works" && !(await this.#probe())) return await this.#giveUp();
      if (client.broken) return;
      this.#verdict = "works";
    } catch (error) {
      this.#breakOff(client);
      this.#scheduleRetry(error);
      return;
    } finally {
      this.#connecting = null;
    }
    if (this.#gap) this.#options.log.info("listening again");
    this.#gap = false;
    this.#retryMs = RETRY_MS_FIRST;
    clearInterval(this.#check);
    this.#check = setInterval(
      () => void this.#checkAlive(client),
      this.#options.checkEveryMs ?? CHECK_INTERVAL_MS,
    );
    for (const observers of this.#observers.values()) {
      for (const observer of observers) observer.ready();
    }
  }

  async #listenOn(client: Client, channel: string, observers: readonly ChannelObserver[]): Promise<void> {
    try {
      await client.run(`listen ${quoteIdentifier(channel)}`, []);
      for (const observer of observers) observer.ready();
    } catch (error) {
      // The next one listens to all channels.
      if (this.#breakOff(client)) this.#scheduleRetry(error);
    }
  }

  async #probe(): Promise<boolean> {
    const [channel] = this.#observers.keys();
    if (channel === undefined) return true;
    const token = crypto.randomUUID();
    const { promise: arrived, resolve } = Promise.withResolvers<boolean>();
    this.#probes.set(token, () => resolve(true));
    let timer: ReturnType<typeof setTimeout> | undefined;
    try {
      // Sending it may take long by itself, on a busy pool or a slow network.
      await this.#options.notify(channel, PROBE + token);
      timer = setTimeout(() => resolve(false), PROBE_TIMEOUT_MS);
      return await arrived;
    } finally {
      clearTimeout(timer);
      this.#probes.delete(token);
    }
  }

  async #giveUp(): Promise<void> {
    const client = this.#client;
    if (client?.broken === true || this.#closed) return;
    if (this.#verdict === "unknown") {
      this.#options.log.warn("listening is not possible", {
        reason: "a notification to this process did not arrive: a transaction pooler is in the way",
        effect: "work is found by polling",
      });
    }
    this.#verdict = "deaf";
    this.#gap = true;
    this.#client = null;
    // Ended first: a try that came due meanwhile would find this one still under way, and none would follow.
    await client?.end();
    if (!this.#closed) this.#connectIn(this.#options.probeAgainMs ?? PROBE_AGAIN_MS);
  }

  #deliver(channel: string, payload: string): void {
    if (payload.startsWith(PROBE)) {
      this.#probes.get(payload.slice(PROBE.length))?.();
      return;
    }
    for (const observer of this.#observers.get(channel) ?? []) observer.message(payload);
  }

  #onClose(client: Client): void {
    if (this.#breakOff(client)) this.#scheduleRetry(new Error("the connection broke"));
  }

  /** Gives a connection up. False when that was done before: whoever did it has told the reason. */
  #breakOff(client: Client): boolean {
    const isOurs = this.#client === client && !this.#closed;
    if (isOurs) {
      this.#client = null;
      clearInterval(this.#check);
    }
    client.destroy();
    return isOurs;
  }

  #scheduleRetry(error: unknown): void {
    if (this.#closed) return;
    const isRefused = error instanceof DatabaseSetupError;
    if (!this.#gap) {
      const reason = error instanceof Error ? error.message : String(error);
      this.#options.log.warn(isRefused ? "listening is not possible" : "listening broke off", {
        reason,
        effect: "work is found by polling until it is back",
      });
    }
    this.#gap = true;
    this.#connectIn(this.#retryMs);
    this.#retryMs = Math.min(this.#retryMs * 2, RETRY_MS_MAX);
  }

  /** Connects after about so many ms: processes that lost their connections together do not come back together. */
  #connectIn(delayMs: number): void {
    clearTimeout(this.#retry);
    this.#retry = setTimeout(() => {
      this.#retry = undefined;
      this.#connecting ??= this.#connect();
    }, delayMs * (0.75 + Math.random() / 2));
  }

  /**
   * A listener sends nothing by itself, so a network that swallows packets would never be noticed. Nor would a server
   * that takes no writes any more: notifications come from where the writes go. And once their queue was full, nothing
   * but a look at it lets it go on.
   */
  async #checkAlive(client: Client): Promise<void> {
    try {
      const [row] = await client.run(CHECK, []);
      this.#options.notifyQueue.note(Number(row?.usage), this.#options.log);
      if (row?.read_only === "on" || client.isSpent) await this.#renew(client);
    } catch (error) {
      if (this.#breakOff(client)) this.#scheduleRetry(error);
    }
  }

  /** Connects anew, which is no gap to speak of: all that is subscribed looks for itself when it is done. */
  async #renew(client: Client): Promise<void> {
    if (this.#client !== client || this.#closed) return;
    this.#client = null;
    clearInterval(this.#check);
    await client.end();
    await (this.#connecting ??= this.#connect());
  }

  async #unsubscribe(channel: string, observer: ChannelObserver): Promise<void> {
    const observers = this.#observers.get(channel);
    if (observers === undefined || !observers.delete(observer) || observers.size > 0) return;
    this.#observers.delete(channel);
    await this.#client?.run(`unlisten ${quoteIdentifier(channel)}`, []).catch(() => {});
  }
}
