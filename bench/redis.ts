/** A Redis server for one run, or null where `redis-server` is missing. */
export async function startRedis(): Promise<RedisServer | null> {
  const directory = await Deno.makeTempDir({ prefix: "millrace_bench_redis_" });
  const port = freePort();
  try {
    // The durability that BullMQ's guide for production asks for: appended, synchronised every second.
    const child = new Deno.Command("redis-server", {
      args: [
        ...["--port", String(port), "--bind", "127.0.0.1", "--dir", directory, "--save", ""],
        ...["--appendonly", "yes", "--appendfsync", "everysec", "--maxmemory-policy", "noeviction"],
      ],
      stdin: "null",
      stdout: "null",
      stderr: "null",
    }).spawn();
    await connectable(port);
    return new RedisServer(child, port, directory);
  } catch (error) {
    await Deno.remove(directory, { recursive: true });
    if (error instanceof Deno.errors.NotFound) return null;
    throw error;
  }
}

/** A running Redis server. */
export class RedisServer implements AsyncDisposable {
  /** Where it listens on 127.0.0.1. */
  readonly port: number;
  readonly #child: Deno.ChildProcess;
  readonly #directory: string;

  /** Takes over what was started. */
  constructor(child: Deno.ChildProcess, port: number, directory: string) {
    this.#child = child;
    this.port = port;
    this.#directory = directory;
  }

  /** Ends it and removes its data. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill("SIGTERM");
    await this.#child.status;
    await Deno.remove(this.#directory, { recursive: true });
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
