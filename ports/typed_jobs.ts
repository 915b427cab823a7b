import type { ArgsInput } from "./args_schema.ts";
import { InvalidOptionError, UndeclaredKindError } from "./errors.ts";
import type { JobId } from "./job.ts";
import type { CancelResult, EnqueueOptions, Jobs, Offered } from "./jobs.ts";
import type { JsonInput } from "./json.ts";
import type { Tx } from "./tx.ts";
import type { TypedKind } from "./typed_kind.ts";

/** The args and options of one enqueue. The args can be left out where the schema allows none. */
export type EnqueueRest<Input> = Record<never, never> extends Input
  ? [args?: Input | null, options?: EnqueueOptions]
  : [args: Input, options?: EnqueueOptions];

/** One entry of {@linkcode TypedJobs.enqueueMany}. */
export type TypedRequest<K extends TypedKind> = K extends TypedKind
  ? EnqueueOptions & { readonly kind: K["name"] | K; readonly args: ArgsInput<K["args"]> }
  : never;

/** Jobs of known kinds: a name that is none of theirs, or args of another shape, does not compile. */
export interface TypedJobs<K extends TypedKind> {
  /** As {@linkcode Jobs.with}. */
  with(tx: Tx): TypedJobs<K>;

  /**
   * As {@linkcode Jobs.enqueue}, of a kind or of its name.
   *
   * @throws {InvalidArgsError} the args do not fit the kind's schema; nothing was sent.
   */
  enqueue<Given extends K>(kind: Given, ...rest: EnqueueRest<ArgsInput<Given["args"]>>): Promise<JobId>;
  /** The same by name. */
  enqueue<Name extends K["name"]>(
    kind: Name,
    ...rest: EnqueueRest<ArgsInput<Extract<K, { readonly name: Name }>["args"]>>
  ): Promise<JobId>;

  /** As {@linkcode Jobs.offer}, of a kind or of its name. */
  offer<Given extends K>(kind: Given, ...rest: EnqueueRest<ArgsInput<Given["args"]>>): Promise<Offered>;
  /** The same by name. */
  offer<Name extends K["name"]>(
    kind: Name,
    ...rest: EnqueueRest<ArgsInput<Extract<K, { readonly name: Name }>["args"]>>
  ): Promise<Offered>;

  /** As {@linkcode Jobs.enqueueMany}. */
  enqueueMany(requests: readonly TypedRequest<K>[]): Promise<JobId[]>;

  /** As {@linkcode Jobs.cancel}. */
  cancel(id: JobId): Promise<CancelResult>;
}

/**
 * A view of jobs that knows kinds and what their args are. What lies below stays strings and JSON, and is the one place
 * where args are checked: the composition's own declaration of the kind.
 *
 * @example
 * ```ts ignore
 * const jobs = typedJobs(millrace, [orderMail, indexProduct]);
 * await jobs.with(tx).enqueue(orderMail, { orderId: "1" });
 * await jobs.enqueue("order.mail", { orderId: "1" });
 * await jobs.enqueue("order.mial", { orderId: "1" }); // does not compile
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
