import type postgres from "postgres";
import type { EmbeddedPostgres } from "../../embedded/mod.ts";
import { pause } from "../conformance/eventually.ts";
import type { TcpProxy } from "../integration/support/tcp_proxy.ts";
import { descendants } from "../programs/program.ts";
import { type Member, tryKill } from "./fleet.ts";
import type { JournalWriter } from "./journal.ts";
import { SETTINGS } from "./kinds.ts";
import type { Receiver } from "./receiver.ts";
import type { Random } from "./random.ts";

/** What the injector can get at. */
export interface Target {
  /** The worker programs. */
  readonly members: readonly Member[];
  /** The server. */
  readonly server: EmbeddedPostgres;
  /** What stands between the producers and the database. */
  readonly proxy: TcpProxy;
  /** Where webhooks go. */
  readonly receiver: Receiver;
  /** The injector's own way to the database. */
  readonly sql: postgres.Sql;
  /** The schema. */
  readonly schema: string;
  /** Where every fault is written down before it is made. */
  readonly journal: JournalWriter;
}

interface Fault {
  readonly name: string;
  readonly weight: number;
  make(target: Target, random: Random): Promise<void>;
}

const LOST_MS = SETTINGS.lostAfterMs!;

/** From a blink to four times the time after which a process counts as lost. */
function outageMs(random: Random): number {
  return random.chance(0.5) ? random.integer(50, LOST_MS / 2) : random.integer(LOST_MS / 2, 4 * LOST_MS);
}

const FAULTS: readonly Fault[] = [
  {
    name: "worker killed",
    weight: 5,
    async make({ members, journal }, random) {
      await Promise.resolve();
      const member = victim(members, random);
      if (member !== null && member.worker !== null) kill(member, member.worker, journal);
    },
  },
  {
    name: "leader killed",
    weight: 3,
    async make({ members, sql, schema, journal }) {
      const rows = await sql.unsafe(
        `select worker.name from ${schema}.leader join ${schema}.worker on worker.id = leader.owner`,
      );
      const pid = Number(String(rows[0]?.name).split(":").at(-1));
      const member = members.find(({ worker }) => worker === pid);
      if (member !== undefined) kill(member, pid, journal);
    },
  },
  {
    name: "worker frozen",
    weight: 5,
    async make({ members, journal }, random) {
      const pid = victim(members, random)?.worker ?? null;
      if (pid !== null) await freeze(pid, outageMs(random), journal);
    },
  },
  {
    name: "host process frozen",
    weight: 2,
    async make({ members, journal }, random) {
      const pid = await hostOf(random.pick(members), random);
      if (pid !== null) await freeze(pid, outageMs(random), journal);
    },
  },
  {
    name: "host process killed",
    weight: 4,
    async make({ members, journal }, random) {
      const pid = await hostOf(random.pick(members), random);
      if (pid === null) return;
      journal.write({ what: "kill", pid, by: "injector" });
      tryKill(pid, "SIGKILL");
    },
  },
  {
    name: "worker stopped in order",
    weight: 3,
    async make({ members }, random) {
      await Promise.resolve();
      victim(members, random)?.stopOnce();
    },
  },
  {
    name: "supervisor killed",
    weight: 2,
    async make({ members }, random) {
      await Promise.resolve();
      victim(members, random)?.killSupervisor();
    },
  },
  {
    name: "connections cut",
    weight: 5,
    async make({ members, proxy }, random) {
      await Promise.resolve();
      random.pick([...members.map((member) => member.proxy), proxy]).cut();
    },
  },
  {
    name: "answers lost",
    weight: 6,
    async make({ members, proxy }, random) {
      const hit = random.pick([...members.map((member) => member.proxy), proxy]);
      hit.cutAtAnswer(random.integer(1, 5));
      await pause(1000);
      hit.cutAtAnswer(0);
    },
  },
  {
    name: "connections stalled",
    weight: 5,
    make: ({ members }, random) => random.pick(members).cutOff(outageMs(random), (proxy) => proxy.freeze()),
  },
  {
    name: "connections refused",
    weight: 3,
    make: ({ members }, random) => random.pick(members).cutOff(outageMs(random), (proxy) => proxy.refuse()),
  },
  {
    name: "backends terminated",
    weight: 4,
    async make({ sql }, random) {
      await sql.unsafe(`
        select pg_terminate_backend(pid)
        from (
          select pid from pg_stat_activity
          where backend_type = 'client backend' and pid <> pg_backend_pid()
          order by random()
          limit ${random.integer(1, 8)}
        ) as some`);
    },
  },
  {
    name: "backend killed",
    weight: 1,
    async make({ sql, server, journal }) {
      const [row] = await sql.unsafe(`
        select pid from pg_stat_activity
        where backend_type = 'client backend' and pid <> pg_backend_pid() order by random() limit 1`);
      if (row === undefined) return;
      journal.write({ what: "out", pid: null, why: "a backend was killed" });
      // The server takes all of its backends down and recovers.
      tryKill(row.pid, "SIGKILL");
      await available(server, sql);
      journal.write({ what: "back", pid: null });
    },
  },
  {
    name: "server shut down at once",
    weight: 2,
    make: ({ server, journal }, random) => restart(server, "SIGQUIT", random.integer(0, 2000), journal),
  },
  {
    name: "server killed",
    weight: 1,
    make: ({ server, journal }, random) => restart(server, "SIGKILL", random.integer(0, 2000), journal),
  },
  {
    name: "server restarted in order",
    weight: 1,
    make: ({ server, journal }, random) => restart(server, null, random.integer(0, 4000), journal),
  },
  {
    name: "receiver away",
    weight: 2,
    make: ({ receiver }, random) => receiver.leave(random.integer(500, 8000)),
  },
];

/** Makes faults, some of them at the same time, until it is told to stop. */
export class Injector {
  readonly #target: Target;
  readonly #random: Random;
  readonly #counts = new Map<string, number>();
  readonly #under = new Set<Promise<void>>();
  #serverBusy = false;
  #running: Promise<void> | null = null;
  #stopped = false;

  constructor(target: Target, random: Random) {
    this.#target = target;
    this.#random = random;
  }

  /** How often each fault was made. */
  get counts(): ReadonlyMap<string, number> {
    return this.#counts;
  }

  /** Begins. */
  start(): void {
    this.#running = this.#run();
  }

  /** Makes no more faults, and resolves when those under way are over and all is whole. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#running;
    await Promise.all(this.#under);
    for (const { proxy } of this.#target.members) proxy.restore();
    this.#target.proxy.restore();
  }

  async #run(): Promise<void> {
    while (!this.#stopped) {
      const fault = this.#random.weighted(FAULTS);
      const random = this.#random.fork();
      const pauseMs = this.#random.chance(0.25) ? 50 : this.#random.integer(500, 3500);
      const isServers = fault.name.startsWith("server") || fault.name === "backend killed";
      if (!isServers || !this.#serverBusy) this.#make(fault, random, isServers);
      await pause(pauseMs);
    }
  }

  #make(fault: Fault, random: Random, isServers: boolean): void {
    this.#counts.set(fault.name, (this.#counts.get(fault.name) ?? 0) + 1);
    this.#target.journal.write({ what: "fault", name: fault.name });
    if (isServers) this.#serverBusy = true;
    const made: Promise<void> = fault.make(this.#target, random)
      // The injector needs the database too, and it may be away.
      .catch((error) =>
        this.#target.journal.write({ what: "fault", name: `${fault.name}: ${error.message}` })
      )
      .finally(() => {
        if (isServers) this.#serverBusy = false;
        this.#under.delete(made);
      });
    this.#under.add(made);
  }
}

/**
 * Whom a fault hits. One that has only begun to start is mostly spared: on a slow machine that takes so long that nothing
 * else would ever be hit.
 */
function victim(members: readonly Member[], random: Random): Member | null {
  const member = random.pick(members);
  return member.isUp || random.chance(0.2) ? member : null;
}

function kill(member: Member, pid: number, journal: JournalWriter): void {
  member.expect(pid);
  journal.write({ what: "kill", pid, by: "injector" });
  tryKill(pid, "SIGKILL");
}

async function freeze(pid: number, ms: number, journal: JournalWriter): Promise<void> {
  journal.write({ what: "out", pid, why: "frozen" });
  tryKill(pid, "SIGSTOP");
  await pause(ms);
  journal.write({ what: "back", pid });
  tryKill(pid, "SIGCONT");
}

async function hostOf(member: Member, random: Random): Promise<number | null> {
  const hosts = member.worker === null ? [] : await descendants(member.worker);
  return hosts.length === 0 ? null : random.pick(hosts);
}

async function restart(
  server: EmbeddedPostgres,
  signal: Deno.Signal | null,
  downMs: number,
  journal: JournalWriter,
): Promise<void> {
  journal.write({ what: "out", pid: null, why: `the server got ${signal ?? "a restart"}` });
  if (signal !== null) tryKill(server.pid, signal);
  await server.restart(downMs);
  journal.write({ what: "back", pid: null });
}

async function available(server: EmbeddedPostgres, sql: postgres.Sql): Promise<void> {
  const deadline = performance.now() + 30_000;
  for (;;) {
    await pause(100);
    try {
      await sql.unsafe("select 1");
      return;
    } catch (error) {
      if (performance.now() > deadline) throw error;
      if (!await isAlive(server.pid)) await server.restart();
    }
  }
}

function isAlive(pid: number): Promise<boolean> {
  return Deno.stat(`/proc/${pid}`).then(() => true, () => false);
}
