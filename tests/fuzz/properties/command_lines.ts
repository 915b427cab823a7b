import { chosenConfig } from "../../../programs/application_place.ts";
import { integerOption, parseArguments, UsageError } from "../../../programs/arguments.ts";
import { withoutPassword } from "../../../programs/database.ts";
import { outputToLog } from "../../../programs/handler_output.ts";
import { schemaOption } from "../../../programs/schema_option.ts";
import { WORKER_ARGUMENTS } from "../../../programs/worker_arguments.ts";
import { silentLog } from "../../../shared/log.ts";
import fc from "../../conformance/fast_check.ts";
import { assert, assertEquals } from "../../support/assert.ts";
import { textOf, thrownBy } from "../hostile.ts";
import type { Property } from "../property.ts";

const OPTIONS = [...WORKER_ARGUMENTS.values!, ...WORKER_ARGUMENTS.flags!, "help"];

/** What a shell hands over holds no U+0000. */
const word = textOf(
  [
    "-",
    "--",
    "=",
    "queues",
    "threads",
    "schema",
    "config",
    "pooler",
    "help",
    "h",
    " ",
    "0",
    "2",
    "%",
    "file://",
    "/",
  ],
  5,
).map((text) => text.replaceAll("\0", ""));
const argument = fc.oneof(
  fc.constantFrom(...OPTIONS.flatMap((name) => [`--${name}`, `-${name}`, `--${name}=`, `--${name}=2`])),
  word,
);
const number = fc.oneof(
  fc.integer({ min: -2, max: 300 }).map(String),
  textOf([" ", "1", "0", "0x", "e", ".", "+", "-", "_", "\n", "Infinity", "\u0661", "n"], 4)
    .map((text) => text.replaceAll("\0", "")),
);

export const commandLineProperties: readonly Property[] = [
  {
    name: "a command line is understood or refused as a wrong one",
    runs: 3000,
    async check(numRuns) {
      const property = fc.asyncProperty(fc.array(argument, { maxLength: 6 }), async (args) => {
        const error = await thrownBy(() => {
          const given = parseArguments(args, WORKER_ARGUMENTS);
          assert([...given.values.keys(), ...given.flags].every((name) => OPTIONS.includes(name)));
          assert(given.words.length <= 1);
          integerOption(given, "threads", 1, 256);
          schemaOption(given);
          chosenConfig(given);
        });
        assert(error === undefined || error instanceof UsageError, `threw ${error}`);
      });
      await fc.assert(property, { numRuns });
    },
  },
  {
    name: "a whole number on a command line is one that was written so",
    runs: 2000,
    async check(numRuns) {
      const property = fc.asyncProperty(number.filter((text) => text !== ""), async (text) => {
        const given = parseArguments([`--down=${text}`], { values: ["down"], words: 0 });
        const error = await thrownBy(() => assertEquals(integerOption(given, "down", 0, 200), Number(text)));
        const isWhole = /^\d+$/.test(text) && Number(text) <= 200;
        assertEquals(error === undefined, isWhole, `--down=${JSON.stringify(text)} ${error}`);
        assert(isWhole || error instanceof UsageError, String(error));
      });
      await fc.assert(property, { numRuns });
    },
  },
  {
    name: "a database's URL is shown without its password, however it is written",
    runs: 2000,
    check(numRuns) {
      const password = fc.stringMatching(/^[a-z0-9]{12}$/);
      const piece = fc.constantFrom(
        ...[
          "postgres:",
          "postgresql:",
          "//",
          "/",
          "@",
          ":",
          "?",
          "#",
          "user",
          "host",
          "5432",
          "db",
          "%",
          "12",
        ],
        ...["postgres://user:", "@host/db", "password=", "[", "]", "\\", " "],
      );
      const pieces = fc.array(piece, { maxLength: 5 }).map((parts) => parts.join(""));
      fc.assert(
        fc.property(pieces, password, pieces, (before, password, after) => {
          // Where it stands in the place of the user's, the host's or the database's name it is none.
          const shown = withoutPassword(`postgres://user:${password}@host/db`);
          assert(!shown.includes(password));
          const url = `${before}:${password}${after}@host/db`;
          assert(!withoutPassword(url).includes(password), `${url} is shown as ${withoutPassword(url)}`);
        }),
        { numRuns },
      );
    },
  },
  {
    name: "what a handler prints becomes one line of the log, whatever it is",
    runs: 1000,
    check(numRuns) {
      const line = textOf(["[", "]", " ", "a handler", "order.mail 12", "\n", "\r", "1"], 8);
      fc.assert(
        fc.property(line, (line) => {
          let lines = 0;
          outputToLog({ ...silentLog, info: () => lines++ })(line);
          assertEquals(lines, 1);
        }),
        { numRuns },
      );
    },
  },
];
