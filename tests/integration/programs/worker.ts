/** A worker program of the integration tests. Its only argument is a `WorkerConfig` as JSON; its log is JSON lines. */
import "./shift_clock.ts";
import { PostgresStore } from "../../../adapters/postgres/postgres_store.ts";
import { createLog, createRuntime } from "../../../mod.ts";
import { runtimeOptions, type WorkerConfig } from "./composition.ts";

const config: WorkerConfig = JSON.parse(Deno.args[0] ?? "{}");
const encoder = new TextEncoder();
const log = createLog({
  level: "debug",
  write: (line) => Deno.stdout.writeSync(encoder.encode(line + "\n")),
});

if (config.protocol !== undefined) {
  const { register } = PostgresStore.prototype;
  const { protocol } = config;
  PostgresStore.prototype.register = function (owner) {
    return register.call(this, { ...owner, protocol });
  };
}

const runtime = createRuntime({ ...runtimeOptions(config), log });
const ended = Promise.withResolvers<void>();
Deno.addSignalListener("SIGTERM", () => ended.resolve());

try {
  await runtime.migrate();
  log.info("migrated");
  if (config.work !== false) {
    await runtime.start();
    await ended.promise;
  }
  await runtime.stop();
  log.info("ended");
  Deno.exit(0);
} catch (error) {
  log.error("not started", {
    error: error instanceof Error ? `${error.name}: ${error.message}` : String(error),
  });
  await runtime.stop();
  Deno.exit(3);
}
