/** What the worker programs of a run work. */
import "../integration/programs/shift_clock.ts";
import type { Application } from "../../programs/application.ts";
import { EVENT_SETTINGS, EVENT_TYPES, makeWebhooks, SUBSCRIPTIONS } from "./events.ts";
import { note } from "./journal.ts";
import { KINDS, PERIODICS, QUEUES, SETTINGS } from "./kinds.ts";
import { markRuntime } from "./runtime_pid.ts";

const LOOK_MS = 100;
/** What others may take for a death begins well below the time after which they do. */
const STALL_MS = 500;

markRuntime();
watchMainLoop();

/** A machine that is busy with others can stop a process as well as a signal does, and nobody would know. */
function watchMainLoop(): void {
  let last = performance.now();
  const timer = setInterval(() => {
    const now = performance.now();
    if (now - last > STALL_MS) note({ what: "stall", pid: Deno.pid, ms: Math.round(now - last) });
    last = now;
  }, LOOK_MS);
  Deno.unrefTimer(timer);
}

const application: Application = {
  registrars: [
    { kinds: KINDS, periodics: PERIODICS },
    { eventTypes: EVENT_TYPES, subscriptions: SUBSCRIPTIONS },
    makeWebhooks().registrar,
  ],
  queues: QUEUES,
  settings: SETTINGS,
  events: EVENT_SETTINGS,
};
export default application;
