/**
 * The one interface of every peer's program: it reads a command as a line of JSON from standard input, does it, and
 * answers with a line that begins with a mark, for libraries print lines of their own.
 */
import process from "node:process";
import { createInterface } from "node:readline";

/** What an answer's line begins with. */
const MARK = "@@ ";

/**
 * Serves the commands of the harness until standard input ends. A command that the peer has no method for is
 * answered as unsupported, and the harness leaves the peer out there.
 *
 * @param {Record<string, (params: any) => Promise<unknown>>} peer
 */
export async function serve(peer) {
  for await (const line of createInterface({ input: process.stdin })) {
    const { method, params } = JSON.parse(line);
    let answer;
    try {
      answer = peer[method] === undefined
        ? { unsupported: true }
        : { value: (await peer[method](params)) ?? null };
    } catch (error) {
      answer = { error: error?.stack ?? String(error) };
    }
    process.stdout.write(`${MARK}${JSON.stringify(answer)}\n`);
  }
  process.exit(0);
}
