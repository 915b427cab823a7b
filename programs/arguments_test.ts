import { assertEquals, assertThrows } from "@std/assert";
import { integerOption, parseArguments, UsageError } from "./arguments.ts";

const SHAPE = { values: ["queues", "threads"], flags: ["keep"], words: 1 };

Deno.test("parseArguments() takes options before and after the words, with = and without", () => {
  const given = parseArguments(["--queues", "a,b", "./app.ts", "--threads=2", "--keep", "-h"], SHAPE);
  assertEquals([...given.values], [["queues", "a,b"], ["threads", "2"]]);
  assertEquals([...given.flags], ["keep", "help"]);
  assertEquals(given.words, ["./app.ts"]);
  assertEquals(integerOption(given, "threads", 1, 8), 2);
  assertEquals(integerOption(given, "absent", 1, 8), undefined);
});

Deno.test("parseArguments() takes everything after -- for words", () => {
  const given = parseArguments(["--keep", "--", "--queues"], SHAPE);
  assertEquals({ words: given.words, flags: [...given.flags] }, { words: ["--queues"], flags: ["keep"] });
  assertThrows(() => parseArguments(["a", "--", "b"], SHAPE), UsageError, '"b"');
});

Deno.test("parseArguments() names what it can't understand", () => {
  assertThrows(
    () => parseArguments(["--quues", "a"], SHAPE),
    UsageError,
    "no option --quues: expected --queues",
  );
  assertThrows(() => parseArguments(["--queues"], SHAPE), UsageError, "--queues needs a value");
  assertThrows(() => parseArguments(["--queues=a", "--queues=b"], SHAPE), UsageError, "given twice");
  assertThrows(() => parseArguments(["--keep=yes"], SHAPE), UsageError, "no option --keep=yes");
  assertThrows(() => parseArguments(["a", "b"], SHAPE), UsageError, '"b"');
  const given = parseArguments(["--threads", "0"], SHAPE);
  assertThrows(
    () => integerOption(given, "threads", 1, 8),
    UsageError,
    '--threads "0": expected an integer from 1',
  );
});

Deno.test("an option is no other option's value, unless it stands behind =", () => {
  assertThrows(() => parseArguments(["--queues", "--keep"], SHAPE), UsageError, "--queues needs a value");
  assertEquals(parseArguments(["--queues=--keep"], SHAPE).values.get("queues"), "--keep");
});

Deno.test("integerOption() takes digits alone: a blank is not 0", () => {
  for (const text of [" ", "1e0", "0x1", " 1", "+1", "1.0"]) {
    const given = parseArguments([`--threads=${text}`], SHAPE);
    assertThrows(() => integerOption(given, "threads", 0, 8), UsageError, JSON.stringify(text));
  }
});
