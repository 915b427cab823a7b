interface Span {
  readonly fromAt: number;
  toAt: number;
}

/** Stretches of time, in ms, by whose they are. */
export class Spans<Key> {
  readonly #spans = new Map<Key, Span[]>();

  /** One begins. */
  open(key: Key, at: number): void {
    this.add(key, at, Infinity);
  }

  /** The first that is open ends. */
  close(key: Key, at: number): void {
    const open = this.#of(key).find(({ toAt }) => toAt === Infinity);
    if (open !== undefined) open.toAt = at;
  }

  /** All that are open end. */
  closeAll(key: Key, at: number): void {
    for (const span of this.#of(key)) span.toAt = Math.min(span.toAt, at);
  }

  /** There was one. */
  add(key: Key, fromAt: number, toAt: number): void {
    const spans = this.#spans.get(key);
    if (spans === undefined) this.#spans.set(key, [{ fromAt, toAt }]);
    else spans.push({ fromAt, toAt });
  }

  /** For how long they last within a time; where they overlap it counts twice. */
  ms(key: Key, fromAt: number, toAt: number): number {
    return this.#of(key).reduce(
      (sum, span) => sum + Math.max(0, Math.min(span.toAt, toAt) - Math.max(span.fromAt, fromAt)),
      0,
    );
  }

  /** Whether one touches a time. */
  touch(key: Key, fromAt: number, toAt: number): boolean {
    return this.#of(key).some((span) => span.fromAt <= toAt && span.toAt >= fromAt);
  }

  #of(key: Key): readonly Span[] {
    return this.#spans.get(key) ?? [];
  }
}
