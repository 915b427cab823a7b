import type { InOrder, Subscription } from "../ports/event.ts";
import { matchesGlob } from "../shared/event_glob.ts";

/** The most types whose subscribers are remembered: triggers may make up any number. */
const TYPES_MAX = 1000;

/** Knows which subscriptions an event goes to. */
export class Subscribers {
  /** Those that take events in order. */
  readonly ordered: readonly OrderedSubscription[];
  readonly #all: readonly Subscription[];
  readonly #byType: Map<string, readonly Subscription[]> = new Map();

  constructor(subscriptions: Iterable<Subscription>) {
    this.#all = [...subscriptions];
    this.ordered = this.#all.filter((each): each is OrderedSubscription => each.inOrder !== undefined);
  }

  /** The subscriptions that one of whose globs matches a type. */
  of(type: string): readonly Subscription[] {
    const known = this.#byType.get(type);
    if (known !== undefined) return known;
    const found = this.#all.filter((each) => each.types.some((glob) => matchesGlob(glob, type)));
    if (this.#byType.size >= TYPES_MAX) this.#byType.clear();
    this.#byType.set(type, found);
    return found;
  }
}

/** A subscription that takes events in order. */
export type OrderedSubscription = Subscription & { readonly inOrder: InOrder };
