import type { Bench } from "../bench.ts";
import type { PeerProcess } from "../peer_process.ts";
import { canReadProcessorTime, processorTime, processorTimeOfServer } from "../processor_time.ts";

/** What running something cost the machine. A count that can't be taken here is null. */
export interface Spent {
  /** Bytes of write-ahead log. */
  readonly walBytes: number;
  /** Statements that the server ran. */
  readonly statements: number | null;
  /** Processor time of the server and the program, in microseconds. */
  readonly processorUs: number | null;
}

const MICROSECONDS = 1e6;
/** Connections that were closed count as the server's children once it has buried them. */
const BURIED_MS = 300;

/** Counts what a program and its server spend on something. */
export async function spend<T>(
  bench: Bench,
  peer: PeerProcess,
  run: () => Promise<T>,
): Promise<{ result: T; spent: Spent }> {
  const before = await read(bench, peer);
  const result = await run();
  await new Promise((resolve) => setTimeout(resolve, BURIED_MS));
  const after = await read(bench, peer);
  const difference = (one: number | null, other: number | null) =>
    one === null || other === null ? null : one - other;
  return {
    result,
    spent: {
      walBytes: after.walBytes - before.walBytes,
      statements: difference(after.statements, before.statements),
      processorUs: difference(after.processorUs, before.processorUs),
    },
  };
}

/** Prepares the server for counting statements; what it lacks is left out. */
export async function canCountStatements(bench: Bench): Promise<boolean> {
  try {
    await bench.sql`create extension if not exists pg_stat_statements`;
    await bench.sql`select from pg_stat_statements limit 1`;
    return true;
  } catch {
    return false;
  }
}

async function read(bench: Bench, peer: PeerProcess): Promise<Spent> {
  const [row] = await bench.sql`
    select
      pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8 as wal_bytes,
      to_regclass('pg_stat_statements') is not null as counts`;
  const server = bench.serverPid;
  return {
    walBytes: row!.wal_bytes,
    statements: row!.counts ? await statements(bench) : null,
    processorUs: server !== null && canReadProcessorTime()
      ? (processorTimeOfServer(server) + processorTime(peer.pid)) * MICROSECONDS
      : null,
  };
}

async function statements(bench: Bench): Promise<number> {
  const [row] = await bench.sql`select coalesce(sum(calls), 0)::float8 as calls from pg_stat_statements`;
  return row!.calls;
}
