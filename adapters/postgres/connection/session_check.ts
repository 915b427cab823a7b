import { type SessionSetting, SessionSettingsError } from "../../../ports/errors.ts";
import type { Log } from "../../../ports/log.ts";
import type { TxRow } from "../../../ports/tx.ts";
import { isRefusal } from "../../../shared/outage.ts";
import { arrayLiteral } from "../sql/sql_text.ts";
import type { RunStatement, Statements } from "../sql/statements.ts";
import type { Client, ClientOptions } from "./client.ts";
import type { Route } from "./route.ts";
import type { RowSecurity } from "./row_security.ts";
import { boundParameters, type Bounds, RELIED_ON } from "./session.ts";

/**
 * What of the settings that were asked for the session does not have. The server writes both in the same way; what it
 * is given for that holds for this statement alone. Each connection pays for it, so it reads no more than it needs.
 */
const LOOK = `
  select name as parameter, found as value, expected, pg_catalog.pg_backend_pid() as pid
  from (
    select
      name, pg_catalog.current_setting(name, true) as found, pg_catalog.set_config(name, value, true) as expected
    from unnest($1::text::text[], $2::text::text[]) as asked (name, value)
    offset 0
  ) as each
  where found is distinct from expected`;

/** The settings that this role may change in a session that is there. Of others nothing can be compared so. */
const CHANGEABLE = `
  select known.name as parameter
  from unnest($1::text::text[]) as asked (name)
  join pg_catalog.pg_settings as known on lower(known.name) = lower(asked.name)
  where known.context = 'user'`;

const SET = `
  select pg_catalog.set_config(name, value, false)
  from unnest($1::text::text[], $2::text::text[]) as asked (name, value)`;

const BOUNDS = "select name, setting from pg_catalog.pg_settings where name = any($1::text::text[])";

/** What our statements go wrong without. Behind a pooler no session can say so by itself. */
const NEEDED: Readonly<Record<string, string>> = {
  default_transaction_isolation: "read committed",
  standard_conforming_strings: "on",
  array_nulls: "on",
};

/** A session reads these of its socket, which need not have them. */
const OF_THE_SOCKET: ReadonlySet<string> = new Set([
  "tcp_keepalives_idle",
  "tcp_keepalives_interval",
  "tcp_keepalives_count",
]);

/** What ends our statements or sessions earlier than our own bounds, in ms. */
const OWN_BOUNDS = ["statement_timeout", "lock_timeout"];
/** Since PostgreSQL 17, and on no session of ours: older servers refuse a session that names it. */
const TRANSACTION_BOUND = "transaction_timeout";

/** What a check needs. */
export interface SessionCheckOptions {
  /** How the connections are made, without this check. */
  readonly client: ClientOptions;
  /** The schema of the tables, quoted. */
  readonly quotedSchema: string;
  /** The way to the server. */
  readonly route: Route;
  /** Whether the role sees all rows. */
  readonly rowSecurity: RowSecurity;
  /** Where it is told what a pooler drops, and what is tighter than our bounds. */
  readonly log: Log;
}

/**
 * Compares what a session has with what it was asked for. Poolers may drop what a session says when it begins, roles and
 * databases have settings of their own, and none of them tells.
 */
export class SessionCheck {
  readonly #options: SessionCheckOptions;
  #asked: Readonly<Record<string, string>>;
  #isBare = false;

  constructor(options: SessionCheckOptions) {
    this.#options = options;
    const { preparedStatements, bounds, session } = options.client;
    this.#asked = preparedStatements
      ? Object.fromEntries(
        Object.entries({ ...RELIED_ON, ...boundParameters(bounds), ...session })
          .filter(([name]) => !OF_THE_SOCKET.has(name)),
      )
      : NEEDED;
  }

  /** Whether the last session that was looked at has what it was asked for, its bounds among it. */
  get keepsSettings(): boolean {
    return this.#options.client.preparedStatements && !this.#isBare;
  }

  /**
   * Looks at a new session, and sets what it lacks where it is ours alone. Says whether it has all that was asked for.
   *
   * @throws {SessionSettingsError} it is shared, and has settings under which statements go wrong.
   * @throws {DatabaseSetupError} row level security may hide rows from its role.
   */
  async look(client: Client): Promise<boolean> {
    const run: RunStatement = (text, params) => client.runFirst(text, params);
    const rows = await this.#different(run);
    if (rows.length === 0) this.#isBare = false;
    else if (await this.#isOurs(client, Number(rows[0]!.pid))) {
      await run(SET, this.#columns());
      this.#isBare = false;
    } else {
      const different = rows.map((row): SessionSetting => ({
        parameter: String(row.parameter),
        value: String(row.value),
        expected: String(row.expected),
      }));
      assertUsable(different);
      this.#isBare = true;
      this.#tellDropped(different);
    }
    await this.#options.rowSecurity.checkOnce(run, this.#options.quotedSchema);
    return this.keepsSettings;
  }

  async #different(run: RunStatement): Promise<readonly TxRow[]> {
    try {
      return await run(LOOK, this.#columns());
    } catch (error) {
      if (!isRefusal(error)) throw error;
    }
    const rows = await run(CHANGEABLE, [arrayLiteral(Object.keys(this.#asked))]);
    const known = new Set(rows.map(({ parameter }) => String(parameter).toLowerCase()));
    this.#asked = Object.fromEntries(
      Object.entries(this.#asked).filter(([name]) => known.has(name.toLowerCase())),
    );
    return await run(LOOK, this.#columns());
  }

  #columns(): string[] {
    return [arrayLiteral(Object.keys(this.#asked)), arrayLiteral(Object.values(this.#asked))];
  }

  /**
   * Looks once more at the start, and tells of bounds that are tighter than ours and that no session of ours can state.
   *
   * @throws as {@linkcode look}.
   */
  async atStart(database: Statements): Promise<void> {
    const { rowSecurity, quotedSchema } = this.#options;
    await rowSecurity.check((text, params) => database.query(text, params), quotedSchema);
    const names = this.keepsSettings ? [TRANSACTION_BOUND] : [...OWN_BOUNDS, TRANSACTION_BOUND];
    for (const { name, setting } of await database.query(BOUNDS, [arrayLiteral(names)])) {
      warnOfBound(String(name), Number(setting), this.#options.client.bounds, this.#options.log);
    }
  }

  /** The server's own number for a session reaches the client only where nothing is in between. */
  async #isOurs(client: Client, pid: number): Promise<boolean> {
    const { client: options, route } = this.#options;
    if (!options.preparedStatements) return false;
    return client.pid === pid || await route.keepsSessions(options);
  }

  #tellDropped(different: readonly SessionSetting[]): void {
    const untold = new Set(this.#options.route.untold(different.map(({ parameter }) => parameter)));
    const shown = different.filter(({ parameter }) => untold.has(parameter));
    if (shown.length === 0) return;
    this.#options.log.warn("a pooler drops the settings of sessions", {
      settings: shown.map(({ parameter, value, expected }) => `${parameter} = ${value}, expected ${expected}`)
        .join("; "),
      effect:
        "transactions set their bounds themselves, other statements are cancelled by this process; the rest is missing",
      remedy: "connect to the server itself or let the pooler keep sessions (pool_mode = session), or say " +
        "preparedStatements: false; what else is named here can be set with alter role ... set",
    });
  }
}

function assertUsable(different: readonly SessionSetting[]): void {
  const wrong = different.filter(({ parameter }) => Object.hasOwn(NEEDED, parameter));
  if (wrong.length > 0) throw new SessionSettingsError(wrong);
}

function warnOfBound(parameter: string, ms: number, bounds: Bounds, log: Log): void {
  const own = parameter === "lock_timeout" ? bounds.lockTimeoutMs : bounds.statementTimeoutMs;
  if (ms === 0 || (own !== 0 && ms >= own)) return;
  log.warn("session with a tighter bound", {
    parameter,
    ms,
    effect:
      "the server ends our statements earlier than we would; work that takes longer is tried again and again",
    remedy: `alter role ... set ${parameter} = ${own}`,
  });
}
