import { answers } from "./answers.ts";
import { attempts } from "./attempts.ts";
import { changes } from "./changes.ts";
import { deaths } from "./deaths.ts";
import type { Evidence, Violation } from "./evidence.ts";
import { events } from "./events.ts";
import { existence } from "./existence.ts";
import { givenUp } from "./given_up.ts";
import { History } from "./history.ts";
import { once } from "./once.ts";
import { runs } from "./runs.ts";
import { webhooks } from "./webhooks.ts";

/** Every rule that the evidence shows broken. */
export function check(evidence: Evidence): { violations: Violation[]; history: History } {
  const history = new History(evidence);
  const rules = [existence, answers, runs, attempts, deaths, once, changes, events, webhooks, givenUp];
  return { history, violations: rules.flatMap((rule) => rule(history)) };
}
