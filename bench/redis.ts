/**
 * Runs a server until its standard input ends, which it does with this process, however that dies; then it removes the
 * server's directory, its first argument. A Ctrl-C reaches it too, and must not end it before.
 */
const GUARD = `
  trap '' INT
  directory=$1
  shift
  "$@" </dev/null >/dev/null 2>&1 &
  cat >/dev/null
  kill "$!" 2>/dev/null
  wait "$!"
  rm -rf "$directory"`;

/** A Redis server for one run, or null where `redis-server` is missing. */
export async function startRedis(): Promise<RedisServer | null> {
  if (!await isInstalled()) return null;
  const directory = await Deno.makeTempDir({ prefix: "millrace_bench_redis_" });
  const port = freePort();
  // The durability that BullMQ's guide for production asks for: appended, synchronised every second.
  const child = new Deno.Command("sh", {
    args: [
      ...["-c", GUARD, "sh", directory, "redis-server"],
      ...["--port", String(port), "--bind", "127.0.0.1", "--dir", directory, "--save", ""],
      ...["--appendonly", "yes", "--appendfsync", "everysec", "--maxmemory-policy", "noeviction"],
    ],
    stdin: "piped",
    stdout: "null",
    stderr: "null",
  }).spawn();
  const server = new RedisServer(child, port);
  try {
    await connectable(port);
  } catch (error) {
    await server[Symbol.asyncDispose]();
    throw error;
  }
  return server;
}

/** A running Redis server. */
export class RedisServer implements AsyncDisposable {
  /** Where it listens on 127.0.0.1. */
  readonly port: number;
  readonly #guard: Deno.ChildProcess;

  /** Takes over what was started. */
  constructor(guard: Deno.ChildProcess, port: number) {
    this.#guard = guard;
    this.port = port;
  }

  /** Ends it and removes its data. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#guard.stdin.close();
    await this.#guard.status;
  }
}

async function isInstalled(): Promise<boolean> {
  try {
    return (await new Deno.Command("redis-server", { args: ["--version"], stdout: "null" }).output()).success;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

function freePort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return (listener.addr as Deno.NetAddr).port;
}

async function connectable(port: number): Promise<void> {
  for (const deadline = performance.now() + 10_000;;) {
    try {
      (await Deno.connect({ hostname: "127.0.0.1", port })).close();
      return;
    } catch (error) {
      if (performance.now() > deadline) throw error;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}
