/** Moves this process's clock by `CLOCK_SHIFT_MS`, before anything else is loaded. */
const shiftMs = Number(Deno.env.get("CLOCK_SHIFT_MS") ?? 0);

if (shiftMs !== 0) {
  const TrueDate = Date;
  globalThis.Date = class extends TrueDate {
    constructor(...args: [] | [number | string | Date]) {
      super(args.length === 0 ? TrueDate.now() + shiftMs : args[0]);
    }

    static override now(): number {
      return TrueDate.now() + shiftMs;
    }
  } as DateConstructor;
}
