import { checkArgs } from "../ports/args_schema.ts";
import type { Composition } from "../ports/composition.ts";
import { InvalidOptionError, UndeclaredKindError, UndeclaredQueueError } from "../ports/errors.ts";
import type { DepthFilter, JobFilter } from "../ports/inspector.ts";
import { JOB_STATES, type JobId } from "../ports/job.ts";
import type { EnqueueOptions, EnqueueRequest } from "../ports/jobs.ts";
import type { JsonInput } from "../ports/json.ts";
import type { Kind } from "../ports/kind.ts";
import { ARGS_BYTES_MAX, LIST_LIMIT_MAX, PERIODIC_PREFIX } from "../ports/limits.ts";
import type { NewJob } from "../ports/store.ts";
import { instantText } from "../shared/instant.ts";
import { toJsonText } from "../shared/json_text.ts";
import { checkKeyMembers, keyRuleOf } from "../shared/key_rule.ts";
import {
  checkOptions,
  flag,
  integer,
  oneOf,
  type Options,
  PRIORITY,
  resolveOptions,
  text,
  UNCHECKED,
} from "../shared/options.ts";

/**
 * Turns a request into a job to be written. All that can be wrong with it is found here, before any SQL is sent. It is a
 * promise only where the check of the kind's own schema is one.
 *
 * @throws as {@linkcode Jobs.enqueue} says.
 */
export function newJob(composition: Composition, request: EnqueueRequest): NewJob | Promise<NewJob> {
  checkOptions("an enqueue request", request, REQUEST);
  const kind = kindOf(composition, request.kind);
  const rule = keyRuleOf(kind);
  const job: NewJob = {
    kind: kind.name,
    queue: queueOf(composition, kind, request.queue),
    args: toJsonText(request.args ?? null, { name: "args", maxBytes: ARGS_BYTES_MAX }),
    priority: request.priority ?? 2,
    maxAttempts: kind.maxAttempts,
    runAt: runAtOf(request.runAt, kind),
    unique: request.uniqueByArgs === true || rule !== null,
    ...(rule === null ? {} : { rule }),
  };
  const keyed = () => {
    if (rule !== null) checkKeyMembers(kind.name, rule, request.args ?? null);
    return job;
  };
  if (kind.args === undefined) return keyed();
  // What is stored is what was handed over: what the schema makes of it need not be JSON, and the handler makes it too.
  const checked = checkArgs(kind.name, kind.args, request.args);
  return checked instanceof Promise ? checked.then(keyed) : keyed();
}

/** What an enqueue was asked for, as a request. What does not belong to its options is refused here. */
export function requestOf(
  kind: string,
  args: JsonInput | undefined,
  options: EnqueueOptions | undefined,
): EnqueueRequest {
  if (options === undefined) return { kind, args: args ?? null };
  checkOptions("options of an enqueue", options, ENQUEUE_OPTIONS);
  return { ...options, kind, args: args ?? null };
}

/** Checks the id of a job: a number would name none, and look as if the job were gone. */
export function checkJobId(id: JobId): void {
  if (typeof id === "string" && id.length <= JOB_ID_LENGTH_MAX) return;
  throw new InvalidOptionError(
    "id",
    id,
    `the id of a job: a text of at most ${JOB_ID_LENGTH_MAX} characters`,
  );
}

/**
 * Checks the ids of jobs.
 *
 * @throws {InvalidOptionError} one is none, or there are too many for one statement.
 */
export function checkJobIds(ids: readonly JobId[]): void {
  if (!Array.isArray(ids) || ids.length > JOB_IDS_MAX) {
    throw new InvalidOptionError("ids", ids, `a list of at most ${JOB_IDS_MAX} ids of jobs`);
  }
  ids.forEach(checkJobId);
}

const JOB_IDS_MAX = 10_000;

/** More than any store's ids have, and few enough for a signal. */
const JOB_ID_LENGTH_MAX = 256;

/**
 * Turns many requests into jobs.
 *
 * @throws as {@linkcode Jobs.enqueueMany} says.
 */
export function newJobs(
  composition: Composition,
  requests: readonly EnqueueRequest[],
): NewJob[] | Promise<NewJob[]> {
  if (!Array.isArray(requests)) {
    throw new InvalidOptionError("requests", requests, "a list of { kind, args?, ... }");
  }
  const jobs = requests.map((request) => newJob(composition, request));
  // Nearly always none is a promise, and a promise for each of thousands would cost as much as the checks.
  return jobs.some((job) => job instanceof Promise) ? Promise.all(jobs) : jobs as NewJob[];
}

/** Checks a filter: one that is misspelt would show every job, or none. */
export function listFilter(filter: JobFilter): JobFilter & { readonly limit: number } {
  const { limit, ...rest } = resolveOptions("a filter", filter, FILTER);
  // Left out, a value that is missing would find every job.
  if (filter.args !== undefined) {
    toJsonText(filter.args, { name: "args", maxBytes: ARGS_BYTES_MAX, refuseUndefined: true });
  }
  return { ...rest, limit: limit! };
}

/** Checks which jobs a depth counts. */
export function depthFilter(filter: DepthFilter): DepthFilter {
  checkOptions("a filter of a depth", filter, DEPTH_FILTER);
  return filter;
}

/** Each option of an enqueue. */
export const ENQUEUE_OPTIONS: Options<EnqueueOptions> = {
  runAt: UNCHECKED,
  uniqueByArgs: flag(),
  queue: UNCHECKED,
  priority: PRIORITY,
};
const REQUEST: Options<EnqueueRequest> = { kind: UNCHECKED, args: UNCHECKED, ...ENQUEUE_OPTIONS };
const FILTER: Options<JobFilter> = {
  kind: text(),
  queue: text(),
  state: oneOf(JOB_STATES),
  args: UNCHECKED,
  before: text(),
  limit: integer({ min: 1, max: LIST_LIMIT_MAX, default: 50 }),
};
const DEPTH_FILTER: Options<DepthFilter> = { kind: text(), queue: text() };

/** A periodic's jobs are enqueued by its ticks and by `runPeriodic`, one at a time. */
function kindOf(composition: Composition, name: string): Kind {
  const kind = composition.kinds.get(name);
  const isPeriodic = typeof name === "string" && name.startsWith(PERIODIC_PREFIX);
  if (kind !== undefined && !isPeriodic) return kind;
  if (kind !== undefined) {
    const run = `runPeriodic(${JSON.stringify(name.slice(PERIODIC_PREFIX.length))})`;
    throw new InvalidOptionError("kind", name, `a kind that is no periodic's: ${run} runs that one`);
  }
  const declared = [...composition.kinds.keys()].filter((known) => !known.startsWith(PERIODIC_PREFIX));
  throw new UndeclaredKindError(name, declared);
}

function queueOf(composition: Composition, kind: Kind, asked: string | undefined): string {
  if (asked === undefined) return kind.queue;
  if (!composition.queues.has(asked)) throw new UndeclaredQueueError(asked, composition.queues.keys());
  return asked;
}

function runAtOf(runAt: Date | undefined, { debounce }: Kind): string | null {
  if (runAt === undefined) return null;
  if (debounce !== undefined) throw new InvalidOptionError("runAt", runAt, "none: its kind is debounced");
  return instantText("runAt", runAt);
}
