import type { Database } from "../../ports/database.ts";
import { errorText } from "../../ports/error_text.ts";
import type { Log } from "../../ports/log.ts";
import type { Service } from "../../ports/runtime.ts";
import type { TxRow } from "../../ports/tx.ts";
import { KEY_VARIABLE, KeyRing, type SecretKeyError } from "./key_ring.ts";
import type { SecretBox } from "./secret_box.ts";

/** The newest secrets of each key that sign now, and how many there are of it. */
const NEWEST = `
  select key, endpoint_id::text, sealed, secrets::int
  from (
    select
      split_part(secret->>'sealed', ':', 2) as key, endpoint.id as endpoint_id, secret->>'sealed' as sealed,
      count(*) over key as secrets,
      row_number() over (key order by endpoint.created_at desc, endpoint.id) as place
    from {schema}.webhook_endpoint as endpoint, jsonb_array_elements(endpoint.secrets) as secret
    where secret->>'expires_at' is null or (secret->>'expires_at')::timestamptz > clock_timestamp()
    window key as (partition by split_part(secret->>'sealed', ':', 2))
  ) as ranked
  where place <= $1::int
  order by key, place`;

/** So many of each key are opened at the start. One alone may be damaged. */
const PROBES = 3;
const TOLD_MAX = 1000;
const EVENT =
  "webhook secrets can't be opened by this process: deliveries that need them wait, and spend no attempt";
const REMEDY =
  `start it with the key that sealed them in ${KEY_VARIABLE}, after the first if that is a new one; processes that ` +
  `have it deliver meanwhile`;

/** What is checked with. */
export interface SecretCheckOptions {
  /** Where the secrets are. */
  readonly database: Database;
  /** Opens them. */
  readonly box: SecretBox;
  /** Told of those that it can't open. */
  readonly log: Log;
}

/**
 * Looks at the start whether the secrets can be opened, and says so once for each key that is missing or another one:
 * here, or when the first delivery meets one that came later. A secret that is damaged is told once for its endpoint.
 */
export class SecretCheck implements Service {
  readonly #options: SecretCheckOptions;
  readonly #told = new Set<string>();

  /** With these. */
  constructor(options: SecretCheckOptions) {
    this.#options = options;
  }

  /** Opens some secrets of each key. It helps a person and is no condition: where it can't look, the start goes on. */
  async open(): Promise<void> {
    const { box, log } = this.#options;
    let rows: readonly TxRow[];
    try {
      rows = await this.#options.database.query(NEWEST, [PROBES]);
    } catch (error) {
      return log.warn("webhook secrets were not looked at", { error: errorText(error) });
    }
    for (const key of new Set(rows.map((row) => String(row.key)))) {
      const own = rows.filter((row) => row.key === key);
      const errors = await Promise.all(own.map(async (row) => {
        return await box.probe(String(row.endpoint_id), String(row.sealed)).then(() => null, errorText);
      }));
      const error = errors[0];
      if (typeof error !== "string" || errors.includes(null)) continue;
      this.#tell(`key ${key}`, { key, secrets: Number(own[0]!.secrets), error });
    }
  }

  /** There is nothing to begin. */
  start(): Promise<void> {
    return Promise.resolve();
  }

  /** There is nothing to end. */
  stop(): Promise<void> {
    return Promise.resolve();
  }

  /** A delivery could not be signed. */
  met(endpointId: string, sealed: readonly string[], error: SecretKeyError): void {
    const { box } = this.#options;
    const keys = sealed.map((text) => KeyRing.sealedWith(text));
    if (keys.some((key) => this.#told.has(`key ${key}`))) return;
    const [missing] = box.missing(sealed);
    if (missing !== undefined) return this.#tell(`key ${missing}`, { key: missing, error: error.message });
    this.#tell(`endpoint ${endpointId}`, { endpointId, error: error.message });
  }

  #tell(name: string, fields: Readonly<Record<string, string | number>>): void {
    if (this.#told.has(name)) return;
    if (this.#told.size >= TOLD_MAX) this.#told.clear();
    this.#told.add(name);
    this.#options.log.error(EVENT, { ...fields, remedy: REMEDY });
  }
}
