import { Buffer } from "node:buffer";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { WebhookVerificationError, WebhookVerifier } from "../../events/signing/verify.ts";
import { pause } from "../conformance/eventually.ts";
import type { JournalWriter } from "./journal.ts";
import type { Random } from "./random.ts";

/** How a request is answered. */
export type Answer = "200" | "404" | "500" | "503" | "reset" | "slow" | "too slow" | "unasked";

const ANSWERS: readonly { readonly answer: Answer; readonly weight: number }[] = [
  { answer: "200", weight: 80 },
  { answer: "404", weight: 4 },
  { answer: "500", weight: 6 },
  { answer: "503", weight: 4 },
  { answer: "reset", weight: 4 },
  { answer: "slow", weight: 4 },
  { answer: "too slow", weight: 1 },
  { answer: "unasked", weight: 5 },
];
const SLOW_MS = 700;
/** Longer than the sender waits. */
const TOO_SLOW_MS = 4000;

/** What comes unasked on a connection that stays open, and after how long, in ms: at once, or while it is idle. */
const UNASKED = [
  "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n",
  "HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n",
  "HTTP/1.1 408 Request Timeout\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
] as const;
const UNASKED_MS = [0, 300] as const;

/** A server of somebody else's: it verifies and writes down what it gets, and answers at random. */
export class Receiver implements AsyncDisposable {
  readonly #journal: JournalWriter;
  readonly #random: Random;
  readonly #verifiers = new Map<string, WebhookVerifier>();
  readonly #server: Server;
  readonly #under = new Set<Promise<void>>();
  /** How many requests came on a connection. */
  readonly #requests = new WeakMap<Socket, number>();
  #away = false;
  #wellNow = false;

  constructor(journal: JournalWriter, random: Random) {
    this.#journal = journal;
    this.#random = random;
    this.#server = createServer((request, response) => {
      const answered: Promise<void> = this.#serve(request, response)
        .catch(() => void response.destroy())
        .finally(() => this.#under.delete(answered));
      this.#under.add(answered);
    });
  }

  /** Listens on a free port of 127.0.0.1. */
  async start(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
  }

  /** Where an endpoint is, by a name or an address of this machine. */
  url(name: string, host: string): string {
    return `http://${host}:${(this.#server.address() as AddressInfo).port}/${name}`;
  }

  /** What an endpoint is signed with. */
  expect(name: string, secret: string): void {
    this.#verifiers.set(name, new WebhookVerifier(secret));
  }

  /** Breaks every request for a while. */
  async leave(ms: number): Promise<void> {
    this.#away = true;
    await pause(ms);
    this.#away = false;
  }

  /** From now on all is answered well. */
  recover(): void {
    this.#wellNow = true;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
    await Promise.all(this.#under);
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.#requests.set(request.socket, this.#requestsOn(request.socket) + 1);
    const answer = this.#wellNow ? "200" : this.#away ? "reset" : this.#random.weighted(ANSWERS).answer;
    const chunks: Uint8Array[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const name = request.url!.slice(1);
    const event = String(request.headers["webhook-id"]);
    const signature = await this.#verify(name, request, Buffer.concat(chunks));
    // Written before it is answered: no sender can know of it earlier.
    this.#journal.write({ what: "received", event, endpoint: name, signature, answer });
    if (answer === "reset") return void request.socket.destroy();
    if (answer === "slow") await pause(SLOW_MS);
    if (answer === "too slow") await pause(TOO_SLOW_MS);
    if (answer === "503") response.setHeader("retry-after", "1");
    response.statusCode = /^[45]/.test(answer) ? Number(answer) : 200;
    response.end();
    if (answer === "unasked") await this.#sayMore(request);
  }

  /**
   * Answers what nobody has asked: another answer on a connection all of whose requests are answered. While a later
   * request is under way it would be an answer to that, by all that HTTP/1.1 says.
   */
  async #sayMore({ socket }: IncomingMessage): Promise<void> {
    const text = this.#random.pick(UNASKED);
    const requests = this.#requestsOn(socket);
    await pause(this.#random.integer(...UNASKED_MS));
    // What has arrived meanwhile is read first.
    await pause(1);
    if (!socket.destroyed && this.#requestsOn(socket) === requests) socket.write(text);
  }

  #requestsOn(socket: Socket): number {
    return this.#requests.get(socket) ?? 0;
  }

  async #verify(name: string, request: IncomingMessage, body: Uint8Array): Promise<string> {
    try {
      const { id, json } = await this.#verifiers.get(name)!.verify({ headers: request.headers, body });
      return json().id === id ? "right" : "its body is another event's";
    } catch (error) {
      if (error instanceof WebhookVerificationError) return error.reason;
      throw error;
    }
  }
}
