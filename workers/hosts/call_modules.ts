import { CallNotAllowedError } from "../../ports/errors.ts";
import type { AttemptOutcome } from "../../ports/executor.ts";
import type { CallOptions } from "../../ports/handler.ts";
import type { Json } from "../../ports/json.ts";
import { DELAY_MS_MAX } from "../../ports/limits.ts";
import { checkOptions, limitMs, type Options, UNCHECKED } from "../../shared/options.ts";
import { moduleSpecifier } from "../module_specifier.ts";
import type { CallRequest, Work } from "../work.ts";
import { callPermissions } from "./call_permissions.ts";
import { callWork } from "./call_work.ts";
import { callableModule } from "./called_module.ts";
import type { Caller } from "./caller.ts";
import type { Confinement } from "./host_group.ts";
import type { HostPool } from "./host_pool.ts";

const CALL_TIMEOUT_MS = 30_000;
const CALL_OPTIONS: Options<CallOptions> = {
  permissions: UNCHECKED,
  timeout: limitMs({ max: DELAY_MS_MAX }),
};
const SHOWN_LENGTH_MAX = 200;

/**
 * Runs the default export of a module on plain input, in a process that only calls of this caller to this module with
 * these permissions share. A caller with permissions of its own gets at most these, and only modules that it could
 * import itself.
 *
 * @throws {CallNotAllowedError} the call goes beyond its caller.
 * @throws {InvalidOptionError} an option is not as it should be. Nothing about the request is taken for granted: it may
 *   come from a confined process.
 */
export async function callModule(
  pool: HostPool,
  caller: Caller,
  { module, input, options }: CallRequest,
  signal: AbortSignal | null,
): Promise<Json> {
  const timeoutMs = checkedTimeout(options);
  const asked = callPermissions(options?.permissions, caller.permissions);
  const shown = module.length > SHOWN_LENGTH_MAX ? `${module.slice(0, SHOWN_LENGTH_MAX)}...` : module;
  const called = await calledCode(pool, module, caller);
  const beyond = [...asked.beyond, ...(called === null ? ["module"] : [])];
  if (called === null || beyond.length > 0) throw new CallNotAllowedError(shown, beyond);
  const { kind } = caller;
  const confinement: Confinement = {
    realm: kind === null ? { type: "own" } : { type: "calls", kind },
    permissions: asked.permissions,
    code: called.code,
  };
  const work = callWork(called.specifier, input, timeoutMs);
  let outcome = await outcomeOf(pool, work, confinement, signal);
  // It shared a process with what killed it; it has no side that could not be done twice, so it is done again.
  if (outcome.type === "released" && outcome.alone && signal?.aborted !== true) {
    outcome = await outcomeOf(pool, work, { ...confinement, alone: true }, signal);
  }
  switch (outcome.type) {
    case "completed":
      return outcome.output === null ? null : JSON.parse(outcome.output);
    case "failed":
      throw new Error(`Cannot call ${shown}: ${outcome.message}`);
    case "released":
    case "discarded":
      throw new Error(`Cannot call ${shown}: ${outcome.reason}`);
    case "snoozed":
      throw new Error(`Cannot call ${shown}: a called module can't snooze`);
  }
}

function checkedTimeout(options: unknown): number {
  if (options === undefined || options === null) return CALL_TIMEOUT_MS;
  const given = options as CallOptions;
  checkOptions("the options of a call", given, CALL_OPTIONS);
  return given.timeout ?? CALL_TIMEOUT_MS;
}

/** The module as Deno reads it and what it may read; null when the caller may not call it. */
async function calledCode(
  pool: HostPool,
  module: string,
  caller: Caller,
): Promise<{ specifier: string; code: Confinement["code"] } | null> {
  const full = moduleSpecifier(module);
  // Deno reads a specifier as a URL, so whatever is decided is decided on what it will read.
  const specifier = URL.canParse(full) ? new URL(full).href : full;
  if (caller.permissions === undefined) return { specifier, code: { modules: [specifier] } };
  // What a confined caller names is not looked through for its imports: the look would read more than the caller may.
  const modules = caller.module === null ? [] : [caller.module];
  const callable = await callableModule(specifier, caller.permissions, await pool.finder.find(modules));
  return callable === null
    ? null
    : { specifier: callable.specifier, code: { modules, paths: callable.paths, hosts: callable.hosts } };
}

function outcomeOf(
  pool: HostPool,
  work: Work,
  confinement: Confinement,
  signal: AbortSignal | null,
): Promise<AttemptOutcome> {
  return new Promise((resolve) => {
    let key = 0;
    const end = (): void => {
      resolve({ type: "released", reason: "its caller ended, or was told to end", alone: false });
      pool.abort(key, "caller");
    };
    if (signal?.aborted === true) return end();
    signal?.addEventListener("abort", end, { once: true });
    key = pool.run(work, confinement, {
      progress: () => {},
      ended: (outcome) => {
        signal?.removeEventListener("abort", end);
        resolve(outcome);
      },
    });
  });
}
