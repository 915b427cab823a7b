import type { Socket } from "node:net";

const CONTINUE = /^HTTP\/1\.[01] 100(?=[ \r])/;
const FIRST_DIGIT = "HTTP/1.1 ".length;
const STATUS_LENGTH = "HTTP/1.1 100".length;
const ONE = 0x31;
const TWO = 0x32;

/**
 * Lets undici pass over `100 Continue` where nobody asked for it, as RFC 9110 (15.2) wants and some servers need. undici
 * takes it for an error; `102 Processing` says as little, and is passed over. So the one digit is changed, at the start of
 * what is read and of what follows another interim answer, while `isAwaited` says that an answer is still to come.
 */
export function passOverContinue(socket: Socket, isAwaited: () => boolean): void {
  const read = socket.read.bind(socket);
  socket.read = (size?: number) => {
    const chunk = read(size);
    if (chunk instanceof Uint8Array && chunk[FIRST_DIGIT] === ONE && isAwaited()) change(chunk);
    return chunk;
  };
}

function change(chunk: Uint8Array): void {
  for (let at = 0; at !== -1;) {
    const head = String.fromCharCode(...chunk.subarray(at, at + STATUS_LENGTH + 1));
    if (!CONTINUE.test(head)) return;
    chunk[at + STATUS_LENGTH - 1] = TWO;
    at = afterHead(chunk, at);
  }
}

/** Where the head that begins there has ended; -1 when its end is not in sight. */
function afterHead(chunk: Uint8Array, from: number): number {
  for (let at = chunk.indexOf(0x0a, from); at !== -1; at = chunk.indexOf(0x0a, at + 1)) {
    if (chunk[at + 1] === 0x0d && chunk[at + 2] === 0x0a) return at + 3;
  }
  return -1;
}
