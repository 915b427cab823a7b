import { EnqueueNotAllowedError, InvalidJsonError, InvalidOptionError } from "../../ports/errors.ts";
import type { CancelResult, EnqueueOptions, EnqueueRequest, Jobs, Offered } from "../../ports/jobs.ts";
import type { Json, JsonInput } from "../../ports/json.ts";
import { ARGS_BYTES_MAX } from "../../ports/limits.ts";
import type { Permissions } from "../../ports/permissions.ts";
import type { Tx } from "../../ports/tx.ts";
import { instantText } from "../../shared/instant.ts";
import { parseJsonText, toJsonText } from "../../shared/json_text.ts";
import { checkObject } from "../../shared/options.ts";

/**
 * What a handler in a thread or a host process asks of `ctx.jobs`, as JSON. The process that it belongs to carries it out:
 * there the kinds are known, and args are checked.
 */
export interface JobOrder {
  /** The method of {@linkcode Jobs}. */
  readonly method: "offer" | "enqueueMany" | "cancel";
  /** Its arguments; args of jobs as texts, dates as ISO 8601. */
  readonly params: readonly Json[];
}

/** The order for one job. */
export function offerOrder(
  kind: string,
  args: JsonInput | undefined,
  options: EnqueueOptions | undefined,
): JobOrder {
  return {
    method: "offer",
    params: [
      kindOf(kind),
      argsText(args),
      options === undefined ? {} : optionsAsJson("options of an enqueue", options),
    ],
  };
}

/** The order for many jobs. */
export function enqueueManyOrder(requests: readonly EnqueueRequest[]): JobOrder {
  if (!Array.isArray(requests)) {
    throw new InvalidOptionError("requests", requests, "a list of { kind, args?, ... }");
  }
  return {
    method: "enqueueMany",
    params: requests.map((request: EnqueueRequest) => {
      checkObject("an enqueue request", request, "kind, args and options");
      const { kind, args, ...options } = request;
      return [kindOf(kind), argsText(args), optionsAsJson("an enqueue request", options)];
    }),
  };
}

/**
 * Carries an order out, in the transaction where there is one. Nothing about it is taken for granted: it may come from a
 * confined process.
 *
 * @throws as the method of {@linkcode Jobs} does.
 */
export async function carryOut({ method, params }: JobOrder, jobs: Jobs, tx: Tx | null): Promise<Json> {
  const on = tx === null ? jobs : jobs.with(tx);
  switch (method) {
    case "offer": {
      const { kind, args, options } = requestOf(params);
      return { ...await on.offer(kind, args, options) } satisfies Offered as unknown as Json;
    }
    case "enqueueMany":
      return await on.enqueueMany(
        params.map(requestOf).map(({ kind, args, options }) => ({ ...options, kind, args })),
      );
    case "cancel":
      return { ...await on.cancel(params[0] as string) } satisfies CancelResult as unknown as Json;
  }
}

/**
 * Checks an order against what a handler of a confined kind may enqueue. Without permissions it may all that its process may.
 *
 * @throws {EnqueueNotAllowedError} it goes beyond that.
 */
export function checkAllowed(
  kind: string,
  permissions: Permissions | undefined,
  { method, params }: JobOrder,
): void {
  if (permissions === undefined || permissions.enqueue === true) return;
  const allowed = permissions.enqueue ?? [];
  const asked = method === "cancel"
    ? ["cancel"]
    : (method === "offer" ? [params] : params).map((request) => requestOf(request).kind);
  const beyond = [...new Set(asked)].filter((name) => method === "cancel" || !allowed.includes(name));
  if (beyond.length > 0) throw new EnqueueNotAllowedError(kind, beyond.slice(0, BEYOND_MAX));
}

/** So many kinds that go beyond are named. */
const BEYOND_MAX = 10;

function requestOf(told: unknown): { kind: string; args: Json; options: EnqueueOptions } {
  const [kind, args, options] = Array.isArray(told) ? told : [];
  const isObject = typeof options === "object" && options !== null && !Array.isArray(options);
  const { runAt, ...rest } = (isObject ? options : {}) as Record<string, Json>;
  return {
    kind: kindOf(kind),
    args: parseJsonText(args, "args"),
    options: { ...rest, ...(runAt === undefined ? {} : { runAt: new Date(String(runAt)) }) },
  };
}

function kindOf(kind: unknown): string {
  if (typeof kind === "string") return kind;
  throw new InvalidOptionError("kind", kind, "the name of a kind");
}

function argsText(args: JsonInput | undefined): string {
  return toJsonText(args ?? null, { name: "args", maxBytes: ARGS_BYTES_MAX });
}

/** Options as they are, but for dates. What they may be is checked where they arrive. */
function optionsAsJson(what: string, options: object): Json {
  checkObject(what, options, "options");
  const told: Record<string, Json> = {};
  for (const [name, value] of Object.entries(options)) {
    if (value === undefined) continue;
    told[name] = name === "runAt" ? instantText(name, value) : optionAsJson(name, value);
  }
  return told;
}

function optionAsJson(name: string, value: unknown): Json {
  try {
    return JSON.parse(toJsonText(value, { name, maxBytes: ARGS_BYTES_MAX }));
  } catch (error) {
    if (error instanceof InvalidJsonError) throw new InvalidOptionError(name, value, "a value of JSON");
    throw error;
  }
}
