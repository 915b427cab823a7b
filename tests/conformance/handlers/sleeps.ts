import type { Handler } from "../../../ports/handler.ts";

/** Waits for its signal. */
const handler: Handler = async (_args, { signal }) => {
  await new Promise((_resolve, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener("abort", () => reject(signal.reason));
  });
};
export default handler;
