import type { Handler } from "../../ports/handler.ts";

/** Holds 90 MiB for a while, and tells which process it ran in. */
const handler: Handler = async () => {
  const held = new Uint8Array(90 * 1024 * 1024).fill(1);
  await new Promise((resolve) => setTimeout(resolve, 150));
  return held[5] === 1 ? Deno.pid : null;
};

export default handler;
