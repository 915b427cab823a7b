import { generateKeyPair, generateSecret } from "../../events/signing/secret.ts";
import type { Database, Transaction } from "../../ports/database.ts";
import { InvalidOptionError } from "../../ports/errors.ts";
import type { EventType } from "../../ports/event.ts";
import { LIST_LIMIT_MAX } from "../../ports/limits.ts";
import { show } from "../../ports/show.ts";
import { matchesGlob } from "../../shared/event_glob.ts";
import {
  flag,
  integer,
  misfitsOf,
  namesOf,
  number,
  oneOf,
  type Option,
  type Options,
  resolveOptions,
  UNCHECKED,
} from "../../shared/options.ts";
import { checkText as checkStorable } from "../../shared/text.ts";
import type { EgressGuard } from "../sender/guard.ts";
import {
  type Delivery,
  type DeliveryFilter,
  type Endpoint,
  type EndpointChanges,
  type EndpointDraft,
  EndpointNotFoundError,
  type EndpointSecret,
  InvalidEndpointError,
  type OwnedEndpointDraft,
  type SecretRotation,
} from "./endpoint.ts";
import { DELIVERY_COLUMNS, deliveryOf, ENDPOINT_COLUMNS, endpointOf } from "./endpoint_rows.ts";
import { KeyRing, SecretKeyError } from "./key_ring.ts";
import type { SecretBox } from "./secret_box.ts";

const TEXT_LENGTH_MAX = 500;
const GLOBS_MAX = 100;
const SHOWN_LENGTH_MAX = 200;
const DAY_MS = 24 * 60 * 60 * 1000;
/** How many secrets sign at once at most: the newest, and those that are in their overlap. */
const SECRETS_MAX = 4;

const TEXT: Option = {
  expected: `text of at most ${TEXT_LENGTH_MAX} characters`,
  accepts: (value) => typeof value === "string" && isStorable(value),
};
const SIGNATURE: Option = { ...oneOf(["v1", "v1a"]), expected: '"v1" or "v1a"' };
const DRAFT: Options<EndpointDraft> = {
  url: UNCHECKED,
  eventTypes: UNCHECKED,
  description: TEXT,
  ownerId: UNCHECKED,
  signature: SIGNATURE,
  ordered: flag(),
};
const { ownerId: _ownerId, ...OWNED_DRAFT } = DRAFT;
const CHANGES: Options<EndpointChanges> = {
  url: UNCHECKED,
  eventTypes: UNCHECKED,
  description: TEXT,
  ordered: flag(),
  enabled: flag(),
};
const ROTATION: Options<SecretRotation> = {
  overlapMs: {
    ...number({ min: 0, max: 30 * DAY_MS, default: DAY_MS }),
    expected: `ms from 0 to ${30 * DAY_MS} (30 days)`,
  },
  signature: SIGNATURE,
};
const FILTER: Options<DeliveryFilter> = {
  endpointId: UNCHECKED,
  state: oneOf(["waiting", "delivered", "discarded"]),
  before: { expected: "the id of a delivery", accepts: isDeliveryId },
  limit: integer({ min: 1, max: LIST_LIMIT_MAX, default: 50 }),
};
const UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/;

const INSERT = `
  insert into {schema}.webhook_endpoint (
    id, url, description, owner_id, event_types, signature, secrets, public_key, ordered
  )
  select id, url, description, owner_id, event_types, signature, secrets, public_key, ordered
  from json_to_record($1::text::json) as given (
    id uuid, url text, description text, owner_id text, event_types jsonb, signature text, secrets jsonb,
    public_key text, ordered boolean
  )
  returning${ENDPOINT_COLUMNS}`;

const LIST = `
  select${ENDPOINT_COLUMNS}
  from {schema}.webhook_endpoint
  where $1::text is null or owner_id = $1::text
  order by created_at, id`;

const GET = `
  select${ENDPOINT_COLUMNS}
  from {schema}.webhook_endpoint
  where id = $1::text::uuid and ($2::text is null or owner_id = $2::text)`;

/** Whoever enables it again, or sends it elsewhere, starts afresh. */
const UPDATE = `
  update {schema}.webhook_endpoint as endpoint
  set
    url = coalesce(given.url, endpoint.url),
    description = coalesce(given.description, endpoint.description),
    event_types = coalesce(given.event_types, endpoint.event_types),
    ordered = coalesce(given.ordered, endpoint.ordered),
    enabled = coalesce(given.enabled, endpoint.enabled),
    disabled_reason = case
      when given.enabled then null
      when not given.enabled and endpoint.enabled then 'disabled by hand'
      else endpoint.disabled_reason
    end,
    failing_since = case when given.enabled or given.url <> endpoint.url then null else endpoint.failing_since end,
    failures = case when given.enabled or given.url <> endpoint.url then 0 else endpoint.failures end,
    next_probe_at = case when given.enabled or given.url <> endpoint.url then null else endpoint.next_probe_at end,
    paused = case when given.enabled or given.url <> endpoint.url then false else endpoint.paused end
  from json_to_record($3::text::json) as given (
    url text, description text, event_types jsonb, ordered boolean, enabled boolean
  )
  where endpoint.id = $1::text::uuid and ($2::text is null or endpoint.owner_id = $2::text)
  returning (select true)`;

const DELETE = `
  delete from {schema}.webhook_endpoint
  where id = $1::text::uuid and ($2::text is null or owner_id = $2::text)
  returning id`;

/** The old ones sign on until the overlap ends; what has expired goes. */
const ROTATE = `
  update {schema}.webhook_endpoint as endpoint
  set
    signature = $4::text,
    public_key = $5::text,
    secrets = jsonb_build_array(jsonb_build_object('sealed', $3::text, 'expires_at', null)) || coalesce((
      select jsonb_agg(
        jsonb_build_object(
          'sealed', secret->'sealed',
          'expires_at', least(
            (secret->>'expires_at')::timestamptz, clock_timestamp() + $6::float8 * interval '1 ms'
          )
        )
        order by place
      )
      from jsonb_array_elements(endpoint.secrets) with ordinality as old (secret, place)
      where (secret->>'expires_at' is null or (secret->>'expires_at')::timestamptz > clock_timestamp())
        and $6::float8 > 0 and place < $7::int
    ), '[]')
  where id = $1::text::uuid and ($2::text is null or owner_id = $2::text)
  returning (select true)`;

/** What has expired signs nothing any more, and goes. */
const SECRETS = `
  select
    id::text,
    coalesce(
      (
        select jsonb_agg(secret order by place)
        from jsonb_array_elements(secrets) with ordinality as old (secret, place)
        where secret->>'expires_at' is null or (secret->>'expires_at')::timestamptz > clock_timestamp()
      ),
      '[]'
    )::text as secrets
  from {schema}.webhook_endpoint
  where id > $1::text::uuid
  order by id
  limit 100
  for update`;

const SET_SECRETS = `
  update {schema}.webhook_endpoint
  set secrets = $2::text::jsonb
  where id = $1::text::uuid`;

const DELIVERIES = `
  select${DELIVERY_COLUMNS}
  from {schema}.webhook_delivery as delivery
  join {schema}.webhook_message as message on message.id = delivery.message_id
  where delivery.endpoint_id = $1::text::uuid
    and ($2::text is null or delivery.state = $2::text)
    and ($3::text is null or delivery.seq < $3::text::bigint)
  order by delivery.seq desc
  limit $4::int`;

/** Why an endpoint is disabled that a person has disabled, as {@linkcode UPDATE} writes it. */
export const DISABLED_BY_HAND = "disabled by hand";

/** What an owner's id is, for messages. */
export const OWNER_EXPECTED: string = `an owner's id, a text of 1 to ${TEXT_LENGTH_MAX} characters`;

/** What endpoints are kept with. */
export interface EndpointsOptions {
  /** Where they are. */
  readonly database: Database;
  /** Seals their secrets. */
  readonly box: SecretBox;
  /** Says which URLs are let through. */
  readonly guard: EgressGuard;
  /** The event types that are exposed to webhooks. */
  readonly exposed: () => readonly EventType[];
  /** Whose endpoints are seen and changed; null for everybody's. */
  readonly ownerId: string | null;
}

/** Makes, shows, changes and deletes endpoints, and shows their deliveries. */
export class Endpoints {
  readonly #options: EndpointsOptions;

  /** With these. */
  constructor(options: EndpointsOptions) {
    this.#options = options;
  }

  /** Whose endpoints are seen and changed; null for everybody's. */
  get ownerId(): string | null {
    return this.#options.ownerId;
  }

  /** The same, which sees and changes those of one owner alone. */
  of(ownerId: string): Endpoints {
    return new Endpoints({ ...this.#options, ownerId });
  }

  /** As `Webhooks.list`. */
  async list(): Promise<Endpoint[]> {
    return (await this.#options.database.query(LIST, [this.#options.ownerId])).map(endpointOf);
  }

  /** As `Webhooks.get`. */
  async get(id: string): Promise<Endpoint> {
    checkStorable("id", id);
    const { database, ownerId } = this.#options;
    const [row] = UUID.test(id) ? await database.query(GET, [id, ownerId]) : [];
    if (row === undefined) throw new EndpointNotFoundError(id);
    return endpointOf(row);
  }

  /** As `Webhooks.create`. */
  async create(draft: EndpointDraft | OwnedEndpointDraft): Promise<EndpointSecret> {
    const ownerId = this.#ownerOf(draft);
    const { description = "", signature = "v1", ordered = false } = draft;
    const url = await this.#checkedUrl(draft.url);
    this.#checkGlobs(draft.eventTypes);
    const id = crypto.randomUUID();
    const made = await this.#newSecret(id, signature);
    const [row] = await this.#options.database.query(INSERT, [JSON.stringify({
      id,
      url,
      description,
      owner_id: ownerId,
      event_types: draft.eventTypes,
      signature,
      secrets: [{ sealed: made.sealed, expires_at: null }],
      public_key: made.publicKey,
      ordered,
    })]);
    return { endpoint: endpointOf(row!), secret: made.shown };
  }

  /** As `Webhooks.update`. */
  async update(id: string, changes: EndpointChanges): Promise<Endpoint> {
    checkMembers(changes, CHANGES);
    const url = changes.url === undefined ? null : await this.#checkedUrl(changes.url);
    if (changes.eventTypes !== undefined) this.#checkGlobs(changes.eventTypes);
    const { description = null, eventTypes = null, ordered = null, enabled = null } = changes;
    const given = JSON.stringify({ url, description, event_types: eventTypes, ordered, enabled });
    await this.#change(id, UPDATE, [given]);
    return await this.get(id);
  }

  /** As `Webhooks.delete`. */
  async delete(id: string): Promise<void> {
    await this.#change(id, DELETE, []);
  }

  /** As `Webhooks.rotateSecret`. */
  async rotateSecret(
    id: string,
    options: SecretRotation,
  ): Promise<EndpointSecret> {
    const { overlapMs, signature } = resolveOptions("a rotation", options, ROTATION);
    const next = signature ?? (await this.get(id)).signature;
    const made = await this.#newSecret(id, next);
    await this.#change(id, ROTATE, [made.sealed, next, made.publicKey, overlapMs!, SECRETS_MAX]);
    return { endpoint: await this.get(id), secret: made.shown };
  }

  /** As `Webhooks.reseal`. */
  async reseal(): Promise<number> {
    let resealed = 0;
    const errors: SecretKeyError[] = [];
    let after: string | undefined = "00000000-0000-0000-0000-000000000000";
    while (after !== undefined) {
      const last: string | undefined = await this.#options.database.transaction(async (tx) => {
        const rows = await tx.unsafe(SECRETS, [after!]);
        for (const row of rows) {
          try {
            resealed += await this.#resealOne(tx, String(row.id), String(row.secrets));
          } catch (error) {
            if (!(error instanceof SecretKeyError)) throw error;
            errors.push(error);
          }
        }
        return rows.length === 0 ? undefined : String(rows.at(-1)!.id);
      });
      after = last;
    }
    const [error] = errors;
    if (error === undefined) return resealed;
    const more = errors.length > 1 ? `, and those of ${errors.length - 1} other endpoints` : "";
    throw new SecretKeyError(`${error.message}${more}. ${resealed} others were sealed`);
  }

  /** As `Webhooks.deliveries`. */
  async deliveries(filter: DeliveryFilter): Promise<Delivery[]> {
    const { endpointId, state, before, limit } = resolveOptions("a filter", filter, FILTER);
    await this.get(endpointId);
    const rows = await this.#options.database.query(DELIVERIES, [
      endpointId,
      state ?? null,
      before ?? null,
      limit!,
    ]);
    return rows.map(deliveryOf);
  }

  async #resealOne(tx: Transaction, id: string, text: string): Promise<number> {
    const secrets = JSON.parse(text) as { sealed: string }[];
    let changed = 0;
    for (const secret of secrets) {
      const sealed = await this.#options.box.reseal(id, secret.sealed, KeyRing.sealedWith(secret.sealed));
      if (sealed === null) continue;
      secret.sealed = sealed;
      changed++;
    }
    if (changed > 0) await tx.unsafe(SET_SECRETS, [id, JSON.stringify(secrets)]);
    return changed;
  }

  /** Whose endpoint a draft makes. One that was forgotten must not become everybody's. */
  #ownerOf(draft: EndpointDraft | OwnedEndpointDraft): string | null {
    const { ownerId } = this.#options;
    checkMembers<Partial<EndpointDraft>>(
      draft,
      (ownerId === null ? DRAFT : OWNED_DRAFT) as Options<EndpointDraft>,
    );
    if (ownerId !== null) return ownerId;
    const given = (draft as Partial<EndpointDraft>).ownerId;
    if (given === null || isOwnerId(given)) return given;
    throw new InvalidEndpointError(
      "ownerId",
      `expected ${OWNER_EXPECTED}, or null for an endpoint of everybody's events`,
    );
  }

  async #change(id: string, text: string, params: readonly (string | number | null)[]): Promise<void> {
    checkStorable("id", id);
    const { database, ownerId } = this.#options;
    const rows = UUID.test(id) ? await database.query(text, [id, ownerId, ...params]) : [];
    if (rows.length === 0) throw new EndpointNotFoundError(id);
  }

  async #newSecret(
    id: string,
    signature: "v1" | "v1a",
  ): Promise<{ readonly sealed: string; readonly shown: string; readonly publicKey: string | null }> {
    const { box } = this.#options;
    if (signature === "v1") {
      const secret = generateSecret();
      return { sealed: await box.seal(id, secret), shown: secret, publicKey: null };
    }
    const { privateKey, publicKey } = await generateKeyPair();
    return { sealed: await box.seal(id, privateKey), shown: publicKey, publicKey };
  }

  async #checkedUrl(url: string): Promise<string> {
    const verdict = await this.#options.guard.check(url);
    if (verdict.type !== "allowed") throw new InvalidEndpointError("url", verdict.reason);
    return verdict.target.url.href;
  }

  #checkGlobs(globs: readonly string[]): void {
    if (!Array.isArray(globs) || globs.length === 0 || globs.length > GLOBS_MAX) {
      throw new InvalidEndpointError(
        "eventTypes",
        `expected a list of 1 to ${GLOBS_MAX} globs of event types`,
      );
    }
    const types = this.#options.exposed().map(({ type }) => type);
    for (const glob of globs) {
      if (typeof glob === "string" && types.some((type) => matchesGlob(glob, type))) continue;
      const known = types.map((type) => JSON.stringify(type)).join(", ") || "none";
      throw new InvalidEndpointError(
        "eventTypes",
        `${
          typeof glob === "string"
            ? JSON.stringify(glob.slice(0, SHOWN_LENGTH_MAX))
            : `a glob of type ${typeof glob}`
        } matches no event type that is exposed to webhooks, exposed are ${known}`,
      );
    }
  }
}

/** Whether it can be an owner's id. */
export function isOwnerId(ownerId: unknown): ownerId is string {
  return typeof ownerId === "string" && ownerId !== "" && isStorable(ownerId);
}

/** Whoever writes `owner` for `ownerId` would hand everybody's events to one of them. */
function checkMembers<T extends object>(given: object, known: Options<T>): void {
  if (typeof given !== "object" || given === null) {
    throw new InvalidEndpointError("value", `expected an object of ${namesOf(known)}`);
  }
  for (const { name, value, expected } of misfitsOf(given, known)) {
    throw new InvalidEndpointError(
      name,
      expected === null
        ? `there is no such member here, expected ${namesOf(known)}`
        : `${show(value)} was given, expected ${expected}`,
    );
  }
}

/**
 * Checks what names a delivery.
 *
 * @throws {InvalidOptionError} it is no id of one.
 */
export function checkDeliveryId(option: string, id: string): void {
  if (!isDeliveryId(id)) throw new InvalidOptionError(option, id, "the id of a delivery");
}

function isDeliveryId(id: unknown): boolean {
  return typeof id === "string" && /^\d{1,18}$/.test(id);
}

function isStorable(text: string): boolean {
  return text.length <= TEXT_LENGTH_MAX && !text.includes("\0") && text.isWellFormed();
}
