import postgres from "postgres";
import { PostgresDatabase } from "../adapters/postgres/connection/database.ts";
import { type EmbeddedPostgres, startEmbedded } from "../embedded/mod.ts";
import { type Contestant, CONTESTANTS, nameContains } from "./contestants.ts";
import { PeerProcess } from "./peer_process.ts";
import { type RedisServer, startRedis } from "./redis.ts";

/** The same for all. Durability as PostgreSQL has it: fsync and synchronous_commit are on. */
export const SERVER_SETTINGS: Readonly<Record<string, string>> = {
  max_connections: "300",
  // A checkpoint that one contestant's writes bring about must not fall into the next one's time.
  max_wal_size: "8GB",
  min_wal_size: "2GB",
  checkpoint_timeout: "1h",
};

/** What the whole run was asked for. */
export interface BenchOptions {
  /** How many rounds; null for the scenario's own. */
  readonly rounds: number | null;
  /** How many jobs; null for the scenario's own. */
  readonly jobs: number | null;
  /** A few seconds in all: whether everything works, not how fast it is. */
  readonly quick: boolean;
  /** Only contestants whose name contains one of these; empty for all. */
  readonly only: readonly string[];
  /** Whether the server counts statements, which takes a library that it loads when it starts. Default false. */
  readonly countsStatements?: boolean;
  /** A database to use instead of an embedded one. */
  readonly url: string | null;
  /** Told what happens. */
  readonly say: (line: string) => void;
}

/** One contestant that is set up in a place of its own. */
export interface Opened {
  /** Who. */
  readonly contestant: Contestant;
  /** Its process. */
  readonly peer: PeerProcess;
  /** Its schema. */
  readonly schema: string;
}

/** The server, and the contestants' programs, for the length of a run. */
export class Bench implements AsyncDisposable {
  /** What was asked for. */
  readonly options: BenchOptions;
  /** For what the harness itself does in the database. */
  readonly sql: postgres.Sql;
  /** Where the database is. */
  readonly url: string;
  readonly #server: EmbeddedPostgres | null;
  #redis: Promise<RedisServer | null> | null = null;
  readonly #processes: Map<string, PeerProcess> = new Map();

  private constructor(options: BenchOptions, server: EmbeddedPostgres | null, url: string) {
    this.options = options;
    this.#server = server;
    this.url = url;
    this.sql = postgres(url, { max: 4, onnotice: () => {} });
  }

  /** The server's process; null when the database was there before. */
  get serverPid(): number | null {
    return this.#server?.pid ?? null;
  }

  /**
   * Starts the server, or finds the one that is there.
   *
   * @throws {Error} it can't be reached.
   */
  static async start(options: BenchOptions): Promise<Bench> {
    if (options.url !== null) return await Bench.#reach(options, options.url);
    const server = await startEmbedded({
      ephemeral: true,
      settings: {
        ...SERVER_SETTINGS,
        ...(options.countsStatements === true ? { shared_preload_libraries: "pg_stat_statements" } : {}),
      },
    });
    const bench = new Bench(options, server, server.url);
    if (!options.quick) await bench.#fillLog();
    return bench;
  }

  static async #reach(options: BenchOptions, url: string): Promise<Bench> {
    try {
      const database = PostgresDatabase.connect({ url, poolSize: 1, listen: "off" });
      await database.query("select").finally(() => database.close());
    } catch (error) {
      throw new Error(`DATABASE_URL: ${(error as Error).message}`);
    }
    return new Bench(options, null, url);
  }

  /**
   * Leaves the server with files of the log to use again, as one that has run for a while has: to make a file anew takes
   * 30 ms, in which nobody commits.
   */
  async #fillLog(): Promise<void> {
    await this.sql.unsafe(
      `select count(pg_logical_emit_message(false, 'bench', repeat('x', 1000000)))
       from generate_series(1, 1500)`,
    );
    await this.sql.unsafe("checkpoint");
  }

  /** The jobs of a scenario: what was asked for, or its own number, or a hundredth of that in a quick run. */
  jobs(usual: number): number {
    return this.options.jobs ?? (this.options.quick ? Math.max(20, Math.round(usual / 100)) : usual);
  }

  /** The rounds of a scenario. */
  rounds(usual = 5): number {
    return this.options.rounds ?? (this.options.quick ? 1 : usual);
  }

  /** Who of these takes part, and why others do not. */
  async present(
    isWanted: (contestant: Contestant) => boolean,
  ): Promise<{ contestants: Contestant[]; skipped: string[] }> {
    const contestants: Contestant[] = [];
    const skipped: string[] = [];
    for (const contestant of CONTESTANTS.filter(isWanted)) {
      const { only } = this.options;
      if (only.length > 0 && !only.some((part) => nameContains(contestant.name, part))) continue;
      const program = await contestant.program();
      if (typeof program === "string") skipped.push(`${contestant.name}: ${program}`);
      else if (contestant.needsRedis && await this.#startRedis() === null) {
        skipped.push(`${contestant.name}: redis-server is missing`);
      } else contestants.push(contestant);
    }
    return { contestants, skipped };
  }

  /** Sets a contestant up in a fresh schema, uses it, and takes the schema away again. */
  async with<T>(
    contestant: Contestant,
    open: Record<string, unknown>,
    use: (opened: Opened) => Promise<T>,
  ): Promise<T> {
    // Everyone begins right after a checkpoint, and with no vacuum of the last one's tables under way.
    await this.sql`checkpoint`;
    const schema = `bench_${crypto.randomUUID().slice(0, 8)}`;
    const peer = await this.process(contestant.name, contestant);
    await this.open(peer, contestant, schema, open);
    try {
      return await use({ contestant, peer, schema });
    } finally {
      await peer.call("close");
      await this.sql`drop schema if exists ${this.sql(schema)} cascade`;
    }
  }

  /** Has a process open a place. */
  async open(
    peer: PeerProcess,
    contestant: Contestant,
    schema: string,
    open: Record<string, unknown> = {},
  ): Promise<void> {
    const redis = contestant.needsRedis ? { redis: (await this.#startRedis())!.port } : {};
    await peer.call("open", {
      url: this.url,
      schema,
      connections: 10,
      ...redis,
      ...contestant.open,
      ...open,
    });
  }

  /** A contestant's process of some name. It stays for the whole run, so that its code is warm after the first round. */
  async process(name: string, contestant: Contestant): Promise<PeerProcess> {
    const running = this.#processes.get(name);
    if (running !== undefined) return running;
    const program = await contestant.program();
    if (typeof program === "string") throw new Error(`${contestant.name}: ${program}`);
    const peer = new PeerProcess(program);
    this.#processes.set(name, peer);
    return peer;
  }

  /** Ends a process, so that the next use of its name starts a fresh one. */
  async end(name: string): Promise<void> {
    const running = this.#processes.get(name);
    this.#processes.delete(name);
    await running?.[Symbol.asyncDispose]();
  }

  /** Kills a process as the system does when memory runs out, so that the next use of its name starts a fresh one. */
  async kill(name: string): Promise<void> {
    this.#processes.get(name)?.kill();
    await this.end(name);
  }

  /** Ends all programs and the server. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#processes.values()].map((peer) => peer[Symbol.asyncDispose]()));
    await this.sql.end();
    await (await this.#redis)?.[Symbol.asyncDispose]();
    await this.#server?.stop();
  }

  #startRedis(): Promise<RedisServer | null> {
    return this.#redis ??= startRedis();
  }
}
