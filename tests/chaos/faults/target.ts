import type postgres from "postgres";
import type { PgBouncer } from "../../integration/support/pgbouncer.ts";
import type { ServerPair } from "../../integration/support/server_pair.ts";
import type { SmallDisk } from "../../integration/support/small_disk.ts";
import type { TcpProxy } from "../../integration/support/tcp_proxy.ts";
import type { Member } from "../fleet.ts";
import type { JournalWriter } from "../journal.ts";
import { SETTINGS } from "../kinds.ts";
import type { Random } from "../random.ts";
import type { Receiver } from "../receiver.ts";

/** The server that takes writes. */
export interface ChaosServer {
  /** Its process id. */
  readonly pid: number;
  /** Ends it in order where it still runs, and starts it again after a while. */
  restart(downMs?: number): Promise<void>;
}

/** What the injector can get at. */
export interface Target {
  /** The worker programs. */
  readonly members: readonly Member[];
  /** The server. */
  readonly server: ChaosServer;
  /** The same with its standby, in a run that has one. */
  readonly pair: ServerPair | null;
  /** What the tables are on; null where none could be mounted. */
  readonly disk: SmallDisk | null;
  /** The pooler, and the one worker program behind it; null where none is installed. */
  readonly pooler: { readonly bouncer: PgBouncer; readonly member: Member } | null;
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

/** One kind of fault. */
export interface Fault {
  /** For people. */
  readonly name: string;
  /** How often it is made beside the others. */
  readonly weight: number;
  /** It is the server's: no two of those at once. */
  readonly isServers?: boolean;
  /** Whether it can be made here. Default always. */
  isPossible?(target: Target): boolean;
  /** Makes it, and resolves when it is over. */
  make(target: Target, random: Random): Promise<void>;
}

const LOST_MS = SETTINGS.lostAfterMs!;

/** From a blink to four times the time after which a process counts as lost. */
export function outageMs(random: Random): number {
  return random.chance(0.5) ? random.integer(50, LOST_MS / 2) : random.integer(LOST_MS / 2, 4 * LOST_MS);
}
