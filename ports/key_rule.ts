import { show } from "./show.ts";

/** A state in which a job can keep out its twins. */
export type KeyState = "pending" | "retryable" | "running" | "completed";

/**
 * Keeps twins out: jobs of one kind whose args are the same, or the same in what `by` names. It holds for every enqueue of
 * the kind, also by SQL and by programs that know nothing of it. Of twins the newest counts.
 *
 * @example At most one waits for each order. What comes while it runs is a job of its own.
 * ```ts
 * import type { UniqueRule } from "@millrace/millrace";
 * const unique: UniqueRule = { by: ["orderId"] };
 * ```
 */
export interface UniqueRule {
  /**
   * Paths of members of the args: `orderId`, `customer.id`. Jobs with the same values there are twins. Default all of the
   * args; an empty list makes all jobs of the kind twins. At most 20, each of at most 200 characters. An enqueue without one
   * of them is refused.
   */
  readonly by?: readonly string[];
  /**
   * In which states a job keeps its twins out; `pending` is one of them. Default while it waits: `pending` and `retryable`,
   * so a change that comes while it runs is never lost. With `within`, `running` too.
   */
  readonly while?: readonly KeyState[];
  /**
   * For so many ms after it has completed it keeps them out as well, on the database's clock, and no longer than it is kept.
   * From 1 to 10 years. `completed` in `while` without it: for as long as it is kept.
   */
  readonly within?: number;
}

/**
 * Gathers calls: while a job waits, a later call for a twin replaces its args and puts off its due time. What comes while it
 * runs is a job of its own.
 *
 * @example A product is indexed 2 s after its last change, and at the latest 30 s after the first
 * ```ts
 * import type { DebounceRule } from "@millrace/millrace";
 * const debounce: DebounceRule = { by: ["productId"], quietMs: 2000, atMostMs: 30_000 };
 * ```
 */
export interface DebounceRule {
  /** As in a {@linkcode UniqueRule}. */
  readonly by?: readonly string[];
  /** It is due so many ms after the latest call. From 1 to 10 years. */
  readonly quietMs: number;
  /** And at the latest so many ms after the first one. From `quietMs` to 10 years. */
  readonly atMostMs: number;
}

/** What a kind declares of its twins, as a store is given it. */
export interface KeyRule {
  /** Paths in the args; null is all of them. */
  readonly by: readonly string[] | null;
  /** The states in which a job keeps its twins out. */
  readonly while: readonly KeyState[];
  /** For how long `completed` does, in ms; null is for as long as it is kept. */
  readonly withinMs: number | null;
  /** What a twin does to a job that waits; null is nothing but an earlier due time. */
  readonly debounce: { readonly quietMs: number; readonly atMostMs: number } | null;
}

/** Args lack a member that their kind's unique key is made of. Nothing was sent. */
export class MissingKeyMemberError extends TypeError {
  /** The name of the class. */
  override readonly name = "MissingKeyMemberError";
  /** The kind. */
  readonly kind: string;
  /** The path of the member, as the kind declares it. */
  readonly path: string;

  /** Names both. */
  constructor(kind: string, path: string) {
    super(
      `Cannot enqueue a job of kind ${show(kind)}: its args have no ${
        show(path)
      }, which its unique key is made of`,
    );
    this.kind = kind;
    this.path = path;
  }
}
