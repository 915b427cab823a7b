import type { Composition } from "../ports/composition.ts";
import type { Database } from "../ports/database.ts";
import type { EventDraft, EventId, Recorder } from "../ports/event.ts";
import { checkTx, type Tx, type TxParam, type TxRow } from "../ports/tx.ts";
import { inBatches } from "../shared/batches.ts";
import { type NewEvent, newEvent, newEvents } from "./_drafts.ts";

/** One row per event, in order, and at most one notification. The events are passed as one JSON text. */
const RECORD = `
  with recorded as (
    insert into {schema}.outbox (type, subject, owner_id, data)
    select type, subject, owner_id, data::jsonb
    from json_to_recordset($1::text::json) as given (ord int, type text, subject text, owner_id text, data text)
    order by ord
    returning id
  )
  select id::text, (select {schema}.wake_relay()) from recorded`;

/** The same for one, which most are. */
const RECORD_ONE = `
  insert into {schema}.outbox (type, subject, owner_id, data)
  values ($1::text, $2::text, $3::text, $4::text::jsonb)
  returning id::text, {schema}.wake_relay()`;

type Run = (text: string, params: TxParam[]) => PromiseLike<readonly TxRow[]>;

/** What a recorder is made of. */
export interface OutboxRecorderOptions {
  /** Where the outbox is. */
  readonly database: Database;
  /** Knows the declared types, once the runtime is built. */
  readonly composition: () => Composition;
}

/** Records events in the outbox. */
export class OutboxRecorder implements Recorder {
  readonly #options: OutboxRecorderOptions;
  readonly #run: Run;
  readonly #isInTransaction: boolean;

  constructor(options: OutboxRecorderOptions, tx?: Tx) {
    this.#options = options;
    this.#isInTransaction = tx !== undefined;
    const { database } = options;
    if (tx === undefined) {
      this.#run = (text, params) => database.query(text, params);
      return;
    }
    checkTx(tx, "record");
    // Prepared, where the driver keeps such: parsing and planning would take longer than the insert.
    this.#run = (text, params) =>
      tx.unsafe(text.replaceAll("{schema}", () => database.quotedSchema), params, { prepare: true });
  }

  with(tx: Tx): Recorder {
    return new OutboxRecorder(this.#options, tx);
  }

  async record(draft: EventDraft): Promise<EventId> {
    const event = newEvent(this.#options.composition().eventTypes, draft);
    const [row] = await this.#run(RECORD_ONE, [event.type, event.subject, event.ownerId, event.data]);
    return String(row!.id);
  }

  async recordMany(drafts: readonly EventDraft[]): Promise<EventId[]> {
    const events = newEvents(this.#options.composition().eventTypes, drafts);
    const batches = inBatches(events, ({ subject, data }) => subject.length + data.length + ROW_LENGTH);
    if (batches.length <= 1 || this.#isInTransaction) return await recordBatches(this.#run, batches);
    return await this.#options.database.transaction((tx) =>
      recordBatches((text, params) => tx.unsafe(text, params), batches)
    );
  }
}

/** About what the rest of a row takes in the text of a statement, in characters. */
const ROW_LENGTH = 200;

async function recordBatches(run: Run, batches: readonly (readonly NewEvent[])[]): Promise<EventId[]> {
  const ids: EventId[] = [];
  for (const batch of batches) {
    for (const row of await run(RECORD, [rowsText(batch)])) ids.push(String(row.id));
  }
  return ids;
}

function rowsText(events: readonly NewEvent[]): string {
  return JSON.stringify(
    events.map(({ type, subject, ownerId, data }, ord) => ({ ord, type, subject, owner_id: ownerId, data })),
  );
}
