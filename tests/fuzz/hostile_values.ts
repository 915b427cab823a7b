/** What somebody may hand over by mistake, or on purpose: makers, for some of the values could not be printed. */
export const HOSTILE_VALUES: readonly (() => unknown)[] = [
  () => undefined,
  () => null,
  () => true,
  () => 0,
  () => -1,
  () => 1.5,
  () => NaN,
  () => Infinity,
  () => 2 ** 53,
  () => 10n,
  () => "",
  () => " ",
  () => "default",
  () => "5",
  () => "\0",
  () => "\ud83d",
  () => "__proto__",
  () => "x".repeat(100_000),
  () => Symbol("s"),
  () => () => {},
  () => class {},
  () => [],
  () => [null, null],
  () => ["x"],
  () => [Symbol("s")],
  () => ({}),
  () => Object.freeze({}),
  () => Object.create(null),
  () => Object.create(null, { name: { enumerable: true, value: Object.create(null) } }),
  () => JSON.parse('{"__proto__":{"polluted":true},"constructor":1}'),
  () => ({ databse: 1 }),
  () => ({ name: Symbol("s"), queue: 10n }),
  () => ({ toString: null, valueOf: null }),
  () => ({ toString: () => fail(), toJSON: () => fail() }),
  () => Object.defineProperty({}, "name", { enumerable: true, get: () => fail() }),
  () => new Proxy({}, { get: () => fail() }),
  () => new Proxy({}, { ownKeys: () => fail() }),
  () => new Date(NaN),
  () => new Date(8.64e15),
  () => new Map([["a", 1]]),
  () => new URL("https://example.org/"),
  () => new Uint8Array(4),
  () => Promise.resolve({}),
  () => cyclic(),
  () => new Error("as handed over"),
];

/** What the hostile ones throw by themselves. It is told as it is. */
export const DRAWN = "as drawn";

function fail(): never {
  throw new Error(DRAWN);
}

function cyclic(): unknown {
  const value: Record<string, unknown> = { name: "cyclic" };
  value.self = value;
  return value;
}
