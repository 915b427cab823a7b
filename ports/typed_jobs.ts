import type { ArgsInput } from "./args_schema.ts";
import { InvalidOptionError, UndeclaredKindError } from "./errors.ts";
import type { JobId } from "./job.ts";
import type { CancelResult, EnqueueOptions, Jobs, Offered } from "./jobs.ts";
import type { JsonInput } from "./json.ts";
import type { Tx } from "./tx.ts";
import type { TypedKind } from "./typed_kind.ts";

/** The args and options of one enqueue. The args may be omitted if the schema permits it. */
export type EnqueueRest<Input> = Record<never, never> extends Input
  ? [args?: Input | null, options?: EnqueueOptions]
  : [args: Input, options?: EnqueueOptions];

/** One entry of {@linkcode TypedJobs.enqueueMany}. */
export type TypedRequest<K extends TypedKind> = K extends TypedKind
  ? EnqueueOptions & { readonly kind: K["name"] | K; readonly args: ArgsInput<K["args"]> }
  : never;

/** Jobs of known kinds: an unknown kind name or args of the wrong shape do not compile. */
export interface TypedJobs<K extends TypedKind> {
  /** Like {@linkcode Jobs.with}. */
  with(tx: Tx): TypedJobs<K>;

  /**
   * Like {@linkcode Jobs.enqueue}, for a kind or its name.
   *
   * @throws {InvalidArgsError} if the args do not match the kind's schema; nothing was sent.
   */
  enqueue<Given extends K>(kind: Given, ...rest: EnqueueRest<ArgsInput<Given["args"]>>): Promise<JobId>;
  /** The same, by name. */
  enqueue<Name extends K["name"]>(
    kind: Name,
    ...rest: EnqueueRest<ArgsInput<Extract<K, { readonly name: Name }>["args"]>>
  ): Promise<JobId>;

  /** Like {@linkcode Jobs.offer}, for a kind or its name. */
  offer<Given extends K>(kind: Given, ...rest: EnqueueRest<ArgsInput<Given["args"]>>): Promise<Offered>;
  /** The same, by name. */
  offer<Name extends K["name"]>(
    kind: Name,
    ...rest: EnqueueRest<ArgsInput<Extract<K, { readonly name: Name }>["args"]>>
  ): Promise<Offered>;

  /** Like {@linkcode Jobs.enqueueMany}. */
  enqueueMany(requests: readonly TypedRequest<K>[]): Promise<JobId[]>;

  /** Like {@linkcode Jobs.cancel}. */
  cancel(id: JobId): Promise<CancelResult>;
}

/**
 * Returns a typed view of `jobs` that knows the kinds and the shape of their args. The layers below still use strings
 * and JSON. Args are checked in one place only: against the kind's declaration in the composition.
 *
 * @example
 * ```ts
 * const jobs = typedJobs(millrace, [orderMail, indexProduct]);
 * await jobs.with(tx).enqueue(orderMail, { orderId: "1" });
 * await jobs.enqueue("order.mail", { orderId: "1" });
 * // @ts-expect-error no kind has this name
 * await jobs.enqueue("order.mial", { orderId: "1" });
 * ```
 */
export function typedJobs<const K extends TypedKind>(jobs: Jobs, kinds: readonly K[]): TypedJobs<K> {
  if (!Array.isArray(kinds)) throw new InvalidOptionError("kinds", kinds, "a list of kinds");
  const nameIn = (kind: string | TypedKind): string => typeof kind === "string" ? kind : kind?.name;
  const names = new Set(kinds.map(nameIn));
  const nameOf = (kind: string | TypedKind): string => {
    const name = nameIn(kind);
    if (!names.has(name)) throw new UndeclaredKindError(name, names);
    return name;
  };
  return viewOf(jobs, nameOf);
}

function listOf<T>(requests: readonly T[]): readonly T[] {
  if (Array.isArray(requests)) return requests;
  throw new InvalidOptionError("requests", requests, "a list of { kind, args, ... }");
}

function viewOf<K extends TypedKind>(
  jobs: Jobs,
  nameOf: (kind: string | TypedKind) => string,
): TypedJobs<K> {
  return {
    with: (tx) => viewOf(jobs.with(tx), nameOf),
    enqueue: async (kind: string | TypedKind, args?: unknown, options?: EnqueueOptions) =>
      await jobs.enqueue(nameOf(kind), args as JsonInput, options),
    offer: async (kind: string | TypedKind, args?: unknown, options?: EnqueueOptions) =>
      await jobs.offer(nameOf(kind), args as JsonInput, options),
    enqueueMany: async (requests) =>
      await jobs.enqueueMany(
        listOf(requests).map((request) => ({
          ...request,
          kind: nameOf(request?.kind),
          args: request.args as JsonInput,
        })),
      ),
    cancel: (id) => jobs.cancel(id),
  };
}
