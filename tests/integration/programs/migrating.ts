/**
 * Migrates schema after schema, each at an agreed moment, so that several of these meet. Its only argument is JSON:
 * `url`, the `schemas`, when the first is due (`at`, ms since the epoch) and how far they are apart (`everyMs`).
 */
import { createRuntime } from "../../../mod.ts";

const { url, schemas, at, everyMs, poolSize } = JSON.parse(Deno.args[0] ?? "{}");

for (const [turn, schema] of (schemas as string[]).entries()) {
  const runtime = createRuntime({
    url,
    schema,
    registrars: [],
    ...(poolSize === undefined ? {} : { poolSize }),
  });
  await new Promise((resolve) => setTimeout(resolve, Math.max(0, at + turn * everyMs - Date.now())));
  await runtime.migrate();
  await runtime.start();
  await runtime.stop();
}
