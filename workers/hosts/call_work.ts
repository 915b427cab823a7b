import type { JsonInput } from "../../ports/json.ts";
import { CALL_BYTES_MAX } from "../../ports/limits.ts";
import { toJsonText } from "../../shared/json_text.ts";
import type { Work } from "../work.ts";

/**
 * A called module as work, so that it runs as handlers do.
 *
 * @throws {InvalidJsonError} the input is not JSON.
 * @throws {TooLargeError} the input is larger than 4 MiB.
 */
export function callWork(module: string, input: JsonInput, timeoutMs: number): Work {
  return {
    id: "",
    run: 0,
    kind: "a called module",
    queue: "",
    attempt: 1,
    maxAttempts: 1,
    timeoutMs,
    module,
    args: toJsonText(input, { name: "input", maxBytes: CALL_BYTES_MAX }),
    ownThread: false,
    plain: true,
  };
}
