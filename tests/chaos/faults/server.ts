import type postgres from "postgres";
import { pause } from "../../conformance/eventually.ts";
import { tryKill } from "../fleet.ts";
import type { JournalWriter } from "../journal.ts";
import type { ChaosServer, Fault } from "./target.ts";

/** So long the disk is full, in ms. */
const FULL_MS = [1000, 8000] as const;

/** What happens to the server. A full disk is one of them: a server that recovers meanwhile could not come up. */
export const SERVER_FAULTS: readonly Fault[] = [
  {
    name: "backend killed",
    weight: 1,
    isServers: true,
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
    isServers: true,
    make: ({ server, journal }, random) => restart(server, "SIGQUIT", random.integer(0, 2000), journal),
  },
  {
    name: "server killed",
    weight: 1,
    isServers: true,
    make: ({ server, journal }, random) => restart(server, "SIGKILL", random.integer(0, 2000), journal),
  },
  {
    name: "server restarted in order",
    weight: 1,
    isServers: true,
    make: ({ server, journal }, random) => restart(server, null, random.integer(0, 4000), journal),
  },
  {
    name: "disk full",
    weight: 3,
    isServers: true,
    isPossible: ({ disk }) => disk !== null,
    async make({ disk, journal }, random) {
      journal.write({ what: "out", pid: null, why: "the disk is full" });
      try {
        await disk!.fill();
        await pause(random.integer(...FULL_MS));
      } finally {
        await disk!.free();
        journal.write({ what: "back", pid: null });
      }
    },
  },
];

async function restart(
  server: ChaosServer,
  signal: Deno.Signal | null,
  downMs: number,
  journal: JournalWriter,
): Promise<void> {
  journal.write({ what: "out", pid: null, why: `the server got ${signal ?? "a restart"}` });
  if (signal !== null) tryKill(server.pid, signal);
  await server.restart(downMs);
  journal.write({ what: "back", pid: null });
}

async function available(server: ChaosServer, sql: postgres.Sql): Promise<void> {
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
