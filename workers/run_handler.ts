import { InvalidJsonError } from "../ports/errors.ts";
import type { AttemptOutcome } from "../ports/executor.ts";
import type { Handler } from "../ports/handler.ts";
import type { Json } from "../ports/json.ts";
import { CALL_BYTES_MAX, OUTPUT_BYTES_MAX } from "../ports/limits.ts";
import { parseJsonText, toJsonText } from "../shared/json_text.ts";
import type { AttemptContext } from "./job_context.ts";
import { outcomeOfThrown } from "./outcome.ts";

/** Calls a handler with the args of a job and tells what came of it. Never rejects. */
export async function runHandler(
  handler: Handler,
  argsText: string,
  context: AttemptContext,
): Promise<AttemptOutcome> {
  try {
    let args: Json;
    try {
      args = argsText === "null" ? {} : parseJsonText(argsText, "args");
    } catch (error) {
      // The same args read the same way on every attempt.
      if (error instanceof InvalidJsonError) return { type: "discarded", reason: error.message };
      throw error;
    }
    const value = await handler(args, context);
    if (context.completedIn) return { type: "completed", output: null, completedIn: true };
    const output = value === undefined || value === null
      ? null
      : toJsonText(value, { name: "output", maxBytes: OUTPUT_BYTES_MAX });
    return { type: "completed", output, completedIn: false };
  } catch (thrown) {
    return outcomeOfThrown(thrown);
  }
}

/** What a called module's default export is given beside its input. */
export type PlainContext = Pick<AttemptContext, "signal">;

/** Calls the default export of a called module: plain input, plain output of at most 4 MiB. Never rejects. */
export async function runPlain(
  module: (input: Json, context: PlainContext) => unknown,
  inputText: string,
  context: PlainContext,
): Promise<AttemptOutcome> {
  try {
    const value = await module(JSON.parse(inputText), {
      get signal() {
        return context.signal;
      },
    });
    const output = value === undefined
      ? null
      : toJsonText(value, { name: "output", maxBytes: CALL_BYTES_MAX });
    return { type: "completed", output, completedIn: false };
  } catch (thrown) {
    return outcomeOfThrown(thrown);
  }
}
