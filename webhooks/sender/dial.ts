import { connect as connectTcp, isIP, type Socket } from "node:net";
import { connect as connectTls, type TLSSocket } from "node:tls";
import { codeOf } from "./error_code.ts";

/** Where a connection may go. */
export interface DialTarget {
  /** Addresses that were checked, the first to be tried first. Never names: nothing is resolved here. */
  readonly addresses: readonly string[];
  /** The port. */
  readonly port: number;
  /** The name, or the address, that the certificate is verified against; null for no TLS. */
  readonly serverName: string | null;
}

/** A connection that stands. */
export interface Dialled {
  /** Its socket; over TLS, the encrypted one. */
  readonly socket: Socket;
  /** The address that it goes to. */
  readonly address: string;
}

/** How long one address is waited for before the next one is tried beside it, in ms: the delay of RFC 8305. */
const ATTEMPT_DELAY_MS = 250;

/**
 * Connects to the first address that answers, as RFC 8305 says: an address that refuses is followed by the next at once,
 * a silent one after 250 ms. Only the TCP connections race. A receiver that answers and then fails the TLS handshake has
 * been reached, and no other is tried.
 *
 * Rejects with the signal's reason when it aborts. Every socket but the one that is returned is closed then.
 */
export async function dial(
  { addresses, port, serverName }: DialTarget,
  signal: AbortSignal,
): Promise<Dialled> {
  const { socket, address } = await race(addresses, port, signal);
  return { socket: serverName === null ? socket : await secure(socket, serverName, signal), address };
}

function race(addresses: readonly string[], port: number, signal: AbortSignal): Promise<Dialled> {
  const { promise, resolve, reject } = Promise.withResolvers<Dialled>();
  const pending = new Set<Socket>();
  const errors: unknown[] = [];
  let tried = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;

  const end = (winner?: Socket): void => {
    clearTimeout(timer);
    signal.removeEventListener("abort", abort);
    for (const socket of pending) if (socket !== winner) socket.destroy();
    tried = addresses.length;
  };
  const abort = (): void => {
    end();
    reject(signal.reason);
  };
  const fail = (error: unknown): void => {
    errors.push(error);
    if (tried < addresses.length) return tryNext();
    if (pending.size > 0) return;
    end();
    reject(mostTelling(errors));
  };
  const tryNext = (): void => {
    clearTimeout(timer);
    const address = addresses[tried++];
    if (address === undefined) return;
    if (isIP(address) === 0) return fail(new TypeError("an address is expected, not a name"));
    const socket = connectTcp({ host: address, port, noDelay: true });
    pending.add(socket);
    socket.once("connect", () => {
      if (!pending.delete(socket) || signal.aborted) return;
      end(socket);
      resolve({ socket, address });
    });
    // It stays for as long as the socket lives: an error that nobody listens for would end the process.
    socket.on("error", (error) => {
      if (pending.delete(socket)) fail(error);
    });
    if (tried < addresses.length) timer = setTimeout(tryNext, ATTEMPT_DELAY_MS);
  };

  if (signal.aborted) return Promise.reject(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  tryNext();
  return promise;
}

/** That this machine has no more connections to give explains the others; that one was denied is no more than a part. */
function mostTelling(errors: readonly unknown[]): unknown {
  return errors.find(isExhausted) ?? errors.find((error) => !isDenied(error)) ?? errors[0];
}

/** Whether this machine has no more connections to give. */
export function isExhausted(error: unknown): boolean {
  return /^(EMFILE|ENFILE|ENOBUFS)$/.test(codeOf(error)) ||
    error instanceof Error && /too many open files|no buffer space/i.test(error.message);
}

/** Whether this process's permissions forbid it. */
export function isDenied(error: unknown): boolean {
  return error instanceof Deno.errors.NotCapable || error instanceof Error && error.name === "NotCapable";
}

/** By the CAs of this process: the usual ones, or those that DENO_CERT and DENO_TLS_CA_STORE name. */
function secure(plain: Socket, serverName: string, signal: AbortSignal): Promise<TLSSocket> {
  const { promise, resolve, reject } = Promise.withResolvers<TLSSocket>();
  const socket = connectTls({
    socket: plain,
    // Only a name may be sent to the server; the certificate is verified against either.
    ...(isIP(serverName) === 0 ? { servername: serverName } : { host: serverName }),
    ALPNProtocols: ["http/1.1"],
    // The default can be changed by NODE_TLS_REJECT_UNAUTHORIZED.
    rejectUnauthorized: true,
  });
  const abort = (): void => fail(signal.reason);
  const settle = (): void => signal.removeEventListener("abort", abort);
  const fail = (error: unknown): void => {
    settle();
    socket.destroy();
    plain.destroy();
    reject(error);
  };
  socket.on("error", fail);
  socket.once("close", () => fail(new Error("the connection ended within the TLS handshake")));
  socket.once("secureConnect", () => {
    settle();
    if (socket.authorized) resolve(socket);
    else fail(new Error("the certificate was not verified"));
  });
  if (signal.aborted) abort();
  else signal.addEventListener("abort", abort, { once: true });
  return promise;
}
