import type { MigrationStep } from "../ports/database.ts";
import type { PartMigrations } from "../ports/registrar.ts";

const CREATE_WEBHOOKS = `
create table {schema}.webhook_endpoint (
  id uuid primary key default gen_random_uuid(),
  url text not null,
  description text not null,
  owner_id text,
  event_types jsonb not null,
  signature text not null check (signature in ('v1', 'v1a')),
  -- Sealed, newest first: [{ "sealed": text, "expires_at": timestamptz or null }].
  secrets jsonb not null,
  public_key text,
  ordered boolean not null,
  enabled boolean not null default true,
  disabled_reason text,
  created_at timestamptz not null default clock_timestamp(),
  -- Since when nothing but failures came back; null when the last delivery went well.
  failing_since timestamptz,
  failures int not null default 0,
  next_probe_at timestamptz,
  -- The lease of the one delivery that is under way to a failing or ordered endpoint.
  busy_until timestamptz,
  busy_by uuid
) with (fillfactor = 70);

-- What is sent, once for all endpoints. A text and not JSON: every attempt sends and signs the same bytes.
create table {schema}.webhook_message (
  id uuid primary key,
  type text not null,
  body text not null,
  created_at timestamptz not null default clock_timestamp()
);

create table {schema}.webhook_delivery (
  endpoint_id uuid not null,
  message_id uuid not null,
  -- Empty for the delivery of the fan-out, the id of the replay otherwise.
  replay text not null,
  seq bigint not null generated always as identity,
  job_id text not null,
  state text not null default 'waiting' check (state in ('waiting', 'delivered', 'discarded')),
  reason text,
  attempts int not null default 0,
  log jsonb not null default '[]',
  created_at timestamptz not null default clock_timestamp(),
  -- When it was last put in line: by the fan-out, or by a person.
  queued_at timestamptz not null default clock_timestamp(),
  ended_at timestamptz,
  primary key (endpoint_id, message_id, replay)
) with (
  fillfactor = 80,
  autovacuum_vacuum_scale_factor = 0,
  autovacuum_vacuum_threshold = 10000,
  autovacuum_vacuum_cost_delay = 0
);
create unique index webhook_delivery_seq on {schema}.webhook_delivery (seq);
create index webhook_delivery_log on {schema}.webhook_delivery (endpoint_id, seq);
create index webhook_delivery_message on {schema}.webhook_delivery (message_id);
create index webhook_delivery_waiting on {schema}.webhook_delivery (endpoint_id, seq) where state = 'waiting'`;

const DROP_WEBHOOKS = `
drop table {schema}.webhook_delivery, {schema}.webhook_message, {schema}.webhook_endpoint`;

const INDEX_OWNERS = `
-- Each event is handed to its owner's endpoints and to those of nobody: the fan-out must not read all tenants' for it.
create index webhook_endpoint_owner on {schema}.webhook_endpoint (owner_id)`;

const INDEX_ORDERED = `
-- Every pass of the relay asks whether there is one.
create index webhook_endpoint_ordered on {schema}.webhook_endpoint (owner_id) where ordered and enabled`;

const COUNT_ON_DELIVERIES = `
alter table {schema}.webhook_endpoint
  -- Whether all deliveries wait for a probe, and not only those that have failed.
  add column paused boolean not null default false;
alter table {schema}.webhook_delivery
  -- When the next attempt is due; null when it is.
  add column due_at timestamptz,
  -- 'asked' where the receiver put it off, 'own' where it has itself to blame.
  add column wait_cause text,
  -- How long it has held up the line of an ordered endpoint while the receiver refused it.
  add column held_ms float8 not null default 0,
  -- Whether it was discarded without a person's doing.
  add column given_up boolean not null default false;
create index webhook_delivery_given_up on {schema}.webhook_delivery (seq) where given_up`;

const COUNT_ON_JOBS = `
alter table {schema}.webhook_delivery
  drop column due_at, drop column wait_cause, drop column held_ms, drop column given_up;
alter table {schema}.webhook_endpoint drop column paused`;

const STEPS: readonly MigrationStep[] = [
  { version: 1, name: "create webhooks", up: CREATE_WEBHOOKS, down: DROP_WEBHOOKS },
  {
    version: 2,
    name: "index endpoints by owner",
    up: INDEX_OWNERS,
    down: "drop index {schema}.webhook_endpoint_owner",
  },
  {
    version: 3,
    name: "index ordered endpoints",
    up: INDEX_ORDERED,
    down: "drop index {schema}.webhook_endpoint_ordered",
  },
  { version: 4, name: "count attempts on deliveries", up: COUNT_ON_DELIVERIES, down: COUNT_ON_JOBS },
];

/** The history of the tables of webhooks. */
export const WEBHOOKS: PartMigrations = { part: "webhooks", steps: STEPS };
