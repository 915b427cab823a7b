/** A program of several relays, for tests that count over processes and kill one. Its argument is the configuration. */
import { createRuntime, silentLog } from "../../../mod.ts";
import { SETTINGS } from "../../integration/programs/composition.ts";
import { EVENT_SETTINGS, TYPES } from "../support/settings.ts";

/** What the program is told. */
export interface RelaysConfig {
  /** The database. */
  readonly url: string;
  /** The schema. */
  readonly schema: string;
  /** How many relays run in it. */
  readonly relays: number;
}

if (import.meta.main) {
  const { url, schema, relays } = JSON.parse(Deno.args[0]!) as RelaysConfig;
  const runtimes = Array.from({ length: relays }, () =>
    createRuntime({
      url,
      schema,
      // What is counted is the jobs that were enqueued.
      work: ["maintenance"],
      registrars: [{
        eventTypes: TYPES,
        subscriptions: [{ name: "counted", types: ["order.*"], handler: () => {} }],
      }],
      settings: SETTINGS,
      events: EVENT_SETTINGS,
      poolSize: 4,
      log: silentLog,
    }));
  await Promise.all(runtimes.map((runtime) => runtime.start()));
  await Deno.stdout.write(new TextEncoder().encode('{"event":"started"}\n'));
}
