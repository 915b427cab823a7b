import postgres from "postgres";
import { startEmbedded } from "../../embedded/mod.ts";
import { findPgBouncer, PgBouncer } from "../integration/support/pgbouncer.ts";
import { findStandbyMaker, ServerPair } from "../integration/support/server_pair.ts";
import { SmallDisk } from "../integration/support/small_disk.ts";
import { ClockLocks } from "./clock_locks.ts";
import type { ChaosServer } from "./faults/target.ts";
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
  /** Where it is. The address stays the same, whatever becomes of the servers behind it. */
  readonly url: string;
  /** The server that takes writes. */
  readonly server: ChaosServer;
  /** The same with its standby; null where the run has none. */
  readonly pair: ServerPair | null;
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

/** A role that an administrator has made: nothing that it has by default is what a program may expect. */
const ODD_ROLE = "chaos_odd";
const ODD_ROLE_SQL = `
  create role ${ODD_ROLE} login superuser password '${ODD_ROLE}';
  alter role ${ODD_ROLE} set default_transaction_isolation = 'serializable';
  alter role ${ODD_ROLE} set timezone = 'Asia/Kathmandu';
  alter role ${ODD_ROLE} set datestyle = 'German, DMY';
  alter role ${ODD_ROLE} set intervalstyle = 'sql_standard';
  alter role ${ODD_ROLE} set bytea_output = 'escape';
  alter role ${ODD_ROLE} set extra_float_digits = -15;
  alter role ${ODD_ROLE} set search_path = 'pg_catalog';
  alter role ${ODD_ROLE} set idle_session_timeout = '5s'`;

/** Starts a primary with a standby that has each commit before it is acknowledged, behind one address. */
export async function startPair(stack: AsyncDisposableStack): Promise<Database> {
  const maker = findStandbyMaker();
  if (maker === null) {
    throw new Error(
      "A standby takes pg_basebackup, as Debian's package postgresql has it: it is not installed",
    );
  }
  const pair = stack.use(await ServerPair.start(maker, "synchronous"));
  return { url: pair.url, server: pair, pair, disk: null, sql: await connect(stack, pair.url) };
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
  const sql = await connect(stack, server.url);
  // The run's own, made by this session, stay where they are.
  await disk?.takeTables(server, sql);
  return { url: server.url, server, pair: null, disk, sql };
}

async function connect(stack: AsyncDisposableStack, url: string): Promise<postgres.Sql> {
  const sql = postgres(url, { max: 4, onnotice: () => {}, fetch_types: false, prepare: false });
  stack.defer(() => sql.end({ timeout: 2 }));
  await sql.unsafe(ODD_ROLE_SQL);
  return sql;
}

/** Makes the worker programs: one thinks that it is an hour later, one has an odd role, and one is behind a pooler. */
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
    (_, n) => stack.use(new Member(site, `worker-${n + 2}`, journal, { url: asOddRole(site.url) })),
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

function asOddRole(url: string): string {
  const odd = new URL(url);
  odd.username = ODD_ROLE;
  odd.password = ODD_ROLE;
  return odd.href;
}
