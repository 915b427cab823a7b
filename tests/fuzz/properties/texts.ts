import { cronerSchedule } from "../../../adapters/croner/schedule.ts";
import { packSignals, unpackSignals } from "../../../adapters/postgres/wakes/signals.ts";
import { InvalidOptionError } from "../../../ports/errors.ts";
import type { Signal } from "../../../ports/store.ts";
import { matchesGlob } from "../../../shared/event_glob.ts";
import { encodeFrames, encodeMarkedFrames, readLines } from "../../../workers/hosts/frames.ts";
import fc from "../../conformance/fast_check.ts";
import { assert, assertEquals } from "../../support/assert.ts";
import { eventType, globOf, naiveMatch } from "../globs.ts";
import { textOf, thrownBy } from "../hostile.ts";
import type { Property } from "../property.ts";

const field = fc.oneof(
  { weight: 3, arbitrary: fc.constant("*") },
  fc.integer({ min: -1, max: 70 }).map(String),
  textOf(["*", "/", "-", ",", "5", "59", "0", "L", "W", "#", "?", "MON", "jan", "H", "@", "+", "~"], 5),
);
const cron = fc.oneof(
  { weight: 6, arbitrary: fc.array(field, { minLength: 5, maxLength: 6 }).map((fields) => fields.join(" ")) },
  { weight: 3, arbitrary: fc.constantFrom("*/20 * * * *", "30 2 * * *", "0 1-3 * * *", "*/7 * 2 * * *") },
  textOf([" ", "*", "@daily", "@yearly", "\t", "0", "2026-11-29T00:00:00"], 8),
);
const zone = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.constantFrom("UTC", "Europe/Vienna", "America/New_York", "Australia/Lord_Howe"),
  },
  textOf(["Europe/", "Vienna", "+01:00", "UTC", "GMT", "/", "\0"], 3),
);

/** A stream of bytes that come in pieces of these sizes. */
function arriving(bytes: Uint8Array, sizes: readonly number[]): ReadableStreamDefaultReader<Uint8Array> {
  let at = 0;
  let turn = 0;
  const stream = new ReadableStream<Uint8Array>({
    pull(controller) {
      if (at >= bytes.length) return controller.close();
      const size = sizes[turn++ % sizes.length]!;
      controller.enqueue(bytes.slice(at, at += size));
    },
  });
  return stream.getReader();
}

async function linesOf(bytes: Uint8Array, sizes: readonly number[]): Promise<string[]> {
  const lines: string[] = [];
  for await (const some of readLines(arriving(bytes, sizes))) lines.push(...some);
  return lines;
}

const sizes = fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1, maxLength: 5 });
const frame = fc.jsonValue({ stringUnit: "binary", maxDepth: 2 });
/** What a handler prints: anything. */
const printed = textOf(["\n", "\r", "[", "{", "token", "\u2028", "\0", "\ufeff", "\u{1f600}"], 6);

const signal: fc.Arbitrary<Signal> = fc.tuple(
  fc.constantFrom("ready", "aside", "pause", "resume", "cancel", "wait", "final"),
  fc.string({ unit: "binary", maxLength: 12 }).map((text) => text.repeat(10)),
).map(([type, value]): Signal => {
  if (type === "aside") return { type, queue: value, kind: value };
  return type === "cancel" || type === "wait" || type === "final"
    ? { type, id: value }
    : { type, queue: value };
});

export const textProperties: readonly Property[] = [
  {
    name: "a cron expression is refused with a reason, or its ticks are whole seconds that go forward",
    runs: 300,
    async check(numRuns) {
      const instant = fc.oneof(
        fc.integer({ min: 0, max: Date.UTC(2100, 0, 1) }),
        // Around a change of the clocks.
        fc.constantFrom(Date.UTC(2026, 9, 25, 1), Date.UTC(2026, 2, 29, 1), Date.UTC(2026, 10, 1, 6)).chain((
          at,
        ) => fc.integer({ min: at - 2 * 60 * 60 * 1000, max: at + 2 * 60 * 60 * 1000 })),
      );
      const property = fc.asyncProperty(cron, zone, instant, async (cron, zone, afterMs) => {
        const error = await thrownBy(() => cronerSchedule.check(cron, zone));
        if (error !== undefined) {
          assert(error instanceof InvalidOptionError, `check() threw ${error}`);
          assert(["cron", "timezone"].includes(error.option), error.option);
          return;
        }
        for (let tick: number | null = afterMs, n = 0; tick !== null && n < 4; n++) {
          const next: number | null = cronerSchedule.next(cron, zone, tick);
          assert(next === null || next > tick && next % 1000 === 0, `${tick} is followed by ${next}`);
          tick = next;
        }
      });
      await fc.assert(property, { numRuns });
    },
  },
  {
    name: "frames arrive as they were sent, in whatever pieces, whatever handlers print between them",
    runs: 500,
    async check(numRuns) {
      const frames = fc.array(frame, { maxLength: 6 });
      const property = fc.asyncProperty(
        frames,
        sizes,
        fc.uuid(),
        fc.array(printed, { maxLength: 7 }),
        async (frames, sizes, token, said) => {
          const sent = await linesOf(encodeFrames(frames), sizes);
          assertEquals(
            sent.map((line) => JSON.stringify(JSON.parse(line))),
            frames.map((each) => JSON.stringify(each)),
          );
          const encoder = new TextEncoder();
          const mixed = frames.flatMap((frame, n) => [
            ...encoder.encode(said[n] ?? ""),
            ...encodeMarkedFrames(token, [frame]),
          ]);
          const lines = await linesOf(new Uint8Array([...mixed, ...encoder.encode(said[6] ?? "")]), sizes);
          const marked = lines.filter((line) => line.startsWith(token)).map((line) =>
            line.slice(token.length)
          );
          assertEquals(marked, frames.map((frame) => JSON.stringify(frame)));
        },
      );
      await fc.assert(property, { numRuns });
    },
  },
  {
    name: "signals arrive as they were sent, and a payload that is none is left alone",
    runs: 150,
    async check(numRuns) {
      const payload = fc.oneof(
        fc.string({ unit: "binary" }),
        fc.json(),
        fc.json().map((text) => `[["r",${text}]]`),
        fc.json().map((text) => `[[${text},"default"],null,["c"]]`),
      );
      const property = fc.asyncProperty(
        fc.array(signal, { maxLength: 150, size: "max" }),
        payload,
        async (signals, payload) => {
          const payloads = packSignals(signals);
          const longest = payloads.map((text) => new TextEncoder().encode(text).length);
          assert(longest.every((bytes) => bytes < 8000), String(longest));
          assertEquals(payloads.flatMap((text) => unpackSignals(text)), signals);
          assertEquals(await thrownBy(() => unpackSignals(payload)), undefined);
        },
      );
      await fc.assert(property, { numRuns });
    },
  },
  {
    name: "an event glob matches what a naive matcher says that it matches",
    runs: 5000,
    check(numRuns) {
      const pair = eventType.chain((type) => fc.tuple(globOf(type), fc.constant(type)));
      fc.assert(
        fc.property(pair, ([glob, type]) => assertEquals(matchesGlob(glob, type), naiveMatch(glob, type))),
        { numRuns },
      );
    },
  },
];
