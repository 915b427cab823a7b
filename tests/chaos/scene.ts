import postgres from "postgres";
import { type EmbeddedPostgres, startEmbedded } from "../../embedded/mod.ts";
import { findPgBouncer, PgBouncer } from "../integration/support/pgbouncer.ts";
import { SmallDisk } from "../integration/support/small_disk.ts";
import { ClockLocks } from "./clock_locks.ts";
import { Member, type Site } from "./fleet.ts";
import { hourAhead, removeLeftClocks } from "./hour_ahead.ts";
import type { JournalWriter } from "./journal.ts";
import { POOL } from "./kinds.ts";

const MEMBERS = 3;
const MIB = 1024 * 1024;
/** How large the disk is: a base, and for each second of faults. */
const DISK_MIB = 64;
const DISK_MIB_PER_S = 0.25;

/** The database, and what it is on. */
export interface Database {
  readonly server: EmbeddedPostgres;
  /** The tables' own disk; null where none could be mounted. */
  readonly disk: SmallDisk | null;
  /** The run's own way to it. */
  readonly sql: postgres.Sql;
}

/** The worker programs, and the pooler in front of one of them; null where none is installed. */
export interface Fleet {
  readonly members: readonly Member[];
  readonly pooler: { readonly bouncer: PgBouncer; readonly member: Member } | null;
}

/** Starts a server whose tables are on a small disk, where that can be. */
export async function startDatabase(
  stack: AsyncDisposableStack,
  seconds: number,
  say: (line: string) => void,
): Promise<Database> {
  // Before the server, so that it goes after it.
  const mounted = await SmallDisk.mount(Math.ceil((DISK_MIB + DISK_MIB_PER_S * seconds) * MIB));
  const disk = typeof mounted === "string" ? null : stack.use(mounted);
  if (typeof mounted === "string") say(`No disk is filled, for none could be mounted: ${mounted}`);
  const server = stack.use(
    await startEmbedded({ ephemeral: true, settings: { max_connections: "200", fsync: "on" } }),
  );
  const sql = postgres(server.url, { max: 2, onnotice: () => {}, fetch_types: false, prepare: false });
  stack.defer(() => sql.end({ timeout: 2 }));
  // The run's own, made by this session, stay where they are.
  await disk?.takeTables(server, sql);
  return { server, disk, sql };
}

/** Makes the worker programs: one thinks that it is an hour later, and one is behind a pooler. */
export async function makeFleet(
  stack: AsyncDisposableStack,
  site: Site,
  journal: JournalWriter,
  say: (line: string) => void,
): Promise<Fleet> {
  const { env, isWhole } = hourAhead();
  if (isWhole) {
    stack.defer(removeLeftClocks);
    stack.use(new ClockLocks());
  } else say("libfaketime is not installed: only the main thread of one worker is an hour ahead");
  const ahead = stack.use(new Member(site, "worker-1", journal, { env }));
  const plain = Array.from(
    { length: MEMBERS - 2 },
    (_, n) => stack.use(new Member(site, `worker-${n + 2}`, journal)),
  );
  const program = findPgBouncer();
  if (program === null) {
    say("PgBouncer is not installed: no worker is behind it");
    const last = stack.use(new Member(site, `worker-${MEMBERS}`, journal));
    return { members: [ahead, ...plain, last], pooler: null };
  }
  const bouncer = stack.use(
    await PgBouncer.start(program, site.url, {
      // Its own default keeps everybody out for 15 s after the server was away for a moment.
      server_login_retry: "1",
      // A program that ends and the next one overlap; heartbeats that waited for a connection would look like a death.
      default_pool_size: String(2 * POOL),
    }),
  );
  const options = { url: bouncer.url, flags: ["--pooler"] };
  const member = stack.use(new Member(site, `worker-${MEMBERS}`, journal, options));
  return { members: [ahead, ...plain, member], pooler: { bouncer, member } };
}
