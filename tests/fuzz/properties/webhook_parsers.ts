import fc from "../../conformance/fast_check.ts";
import { assert, assertEquals } from "../../support/assert.ts";
import { fromBase64, toBase64 } from "../../../events/signing/base64.ts";
import { KeyRing, SecretKeyError } from "../../../webhooks/endpoints/key_ring.ts";
import { retryAfterMs } from "../../../webhooks/deliveries/retry_after.ts";
import { parseSecret } from "../../../events/signing/secret.ts";
import { SecretBox } from "../../../webhooks/endpoints/secret_box.ts";
import { createPoster, type PostOutput } from "../../../webhooks/sender/post.ts";
import { hasControlCharacter } from "../../../webhooks/sender/testdata/control_characters.ts";
import { rawServer } from "../../../webhooks/sender/testdata/raw_server.ts";
import { textOf, thrownBy } from "../hostile.ts";
import type { Property } from "../property.ts";

const HOUR_MS = 60 * 60 * 1000;
const NOW = Date.UTC(2026, 10, 29);
const TIMEOUT_MS = 20_000;

const keyText = fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => toBase64(bytes));
const ring = KeyRing.read(
  `new:${toBase64(new Uint8Array(32).fill(2))},old:${toBase64(new Uint8Array(32).fill(1))}`,
);

const answerText = textOf([
  "HTTP/1.1 200 OK\r\n",
  "HTTP/1.0 503 \r\n",
  "HTTP/1.1 100 Continue\r\n\r\n",
  "HTTP/1.1 204\r\n",
  "HTTP/1.1 101 \r\n\r\n",
  "HTTP/1.1 600 \r\n\r\n",
  "HTTP/2 200\r\n",
  "\r\n",
  "\n",
  "\r",
  "Content-Length: 5\r\n",
  "Content-Length: 99999999999999999999\r\n",
  "Transfer-Encoding: chunked\r\n",
  "Transfer-Encoding: gzip, chunked\r\n",
  "Retry-After: 5\r\n",
  "Connection: close\r\n",
  "5\r\nhello\r\n",
  "0\r\n\r\n",
  "ffffffff\r\n",
  "a".repeat(3000),
  `a:${" \t".repeat(9000)}`,
  "hello",
], 12);

/** What comes of an answer of these bytes, which arrive in pieces of these sizes before the connection ends. */
async function outcome(bytes: Uint8Array, sizes: readonly number[]): Promise<PostOutput> {
  await using server = rawServer(async (connection) => {
    for (let at = 0, turn = 0; at < bytes.length;) {
      const piece = bytes.subarray(at, at + sizes[turn++ % sizes.length]!);
      at += await connection.write(piece);
    }
  });
  const { post, close } = createPoster();
  try {
    const input = {
      addresses: ["127.0.0.1"],
      url: server.url,
      headers: {},
      body: "{}",
      timeoutMs: TIMEOUT_MS,
    };
    return await post(input);
  } finally {
    close();
  }
}

const sizes = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 5 });

function latin1(text: string): Uint8Array {
  return Uint8Array.from(text, (character) => character.charCodeAt(0) & 0xff);
}

export const webhookParserProperties: readonly Property[] = [
  {
    name: "whatever a receiver answers is read within its bounds or refused, in whatever pieces it comes",
    runs: 60,
    async check(numRuns) {
      const bytes = fc.oneof(
        { weight: 4, arbitrary: answerText.map(latin1) },
        fc.uint8Array({ maxLength: 300 }),
      );
      const property = fc.asyncProperty(bytes, sizes, async (bytes, sizes) => {
        const output = await outcome(bytes, sizes);
        assert(
          !hasControlCharacter(Object.values(output).flat().join()),
          Deno.inspect(output),
        );
        if (output.type === "answered") {
          assert(output.status >= 200 && output.status <= 599, Deno.inspect(output));
          assert(output.answer.length <= 1000, Deno.inspect(output));
        } else {
          assert(output.reason === "answer" || output.reason === "connection", Deno.inspect(output));
        }
      });
      await fc.assert(property, { numRuns });
    },
  },
  {
    name: "an answer that is one is read as it was written, in every framing",
    runs: 60,
    async check(numRuns) {
      const property = fc.asyncProperty(
        fc.constantFrom("length", "chunked", "close"),
        fc.integer({ min: 200, max: 599 }).filter((status) => status !== 204 && status !== 304),
        fc.array(fc.stringMatching(/^[!-~]{1,50}$/), { maxLength: 6 }),
        fc.stringMatching(/^[!-~]{0,20}$/),
        sizes,
        async (framing, status, chunks, value, sizes) => {
          const body = chunks.join("");
          const header = { length: `Content-Length: ${body.length}`, chunked: "Transfer-Encoding: chunked" };
          const head = `HTTP/1.1 ${status} \r\nRetry-After: ${value} \r\n` +
            (framing === "close" ? "\r\n" : `${header[framing]}\r\n\r\n`);
          const written = framing === "chunked"
            ? [...chunks, ""].map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`).join("")
            : body;
          const output = await outcome(latin1(head + written), sizes);
          assert(output.type === "answered", Deno.inspect(output));
          assertEquals([output.status, output.retryAfter, output.answer], [status, [value], body]);
        },
      );
      await fc.assert(property, { numRuns });
    },
  },
  {
    name: "whatever Retry-After says, it is a time ahead within the bound or nothing",
    runs: 3000,
    check(numRuns) {
      const value = textOf(
        [
          "9",
          "0",
          " ",
          ",",
          "Sun",
          "Sunday",
          "Nov",
          "29",
          "-",
          ":",
          "12:00:00",
          "2026",
          "GMT",
          "\u0661",
          "e",
        ],
        12,
      );
      const date = fc.date({ noInvalidDate: true }).map((date) => date.toUTCString());
      const property = fc.property(fc.array(fc.oneof(value, date), { maxLength: 3 }), (values) => {
        const ms = retryAfterMs(values, NOW, 10 * HOUR_MS);
        assert(ms === null || ms > 0 && ms <= 10 * HOUR_MS, String(ms));
      });
      fc.assert(property, { numRuns });
      fc.assert(
        fc.property(fc.integer({ min: 1, max: 36_000 }), (seconds) => {
          const at = new Date(NOW + seconds * 1000).toUTCString();
          const values = [String(seconds), at];
          assertEquals(values.map((text) => retryAfterMs([text], NOW, 10 * HOUR_MS)), [
            seconds * 1000,
            seconds * 1000,
          ]);
        }),
        { numRuns },
      );
    },
  },
  {
    name: "base64 is what was encoded, in one spelling, or nothing",
    runs: 3000,
    check(numRuns) {
      fc.assert(
        fc.property(fc.uint8Array({ maxLength: 100 }), (bytes) => {
          assertEquals(fromBase64(toBase64(bytes)), new Uint8Array(bytes));
        }),
        { numRuns },
      );
      const text = textOf(["A", "/", "+", "=", "==", "-", "_", "\n", " ", "QQ=="], 10);
      fc.assert(
        fc.property(text, (text) => {
          const bytes = fromBase64(text);
          if (bytes !== null) assertEquals(toBase64(bytes), text);
        }),
        { numRuns },
      );
    },
  },
  {
    name: "a secret of an endpoint is read or refused by an error that does not tell it",
    runs: 2000,
    async check(numRuns) {
      const text = fc.tuple(
        fc.constantFrom("whsec_", "whsk_", "whpk_", "whsec", ""),
        fc.oneof(
          fc.uint8Array({ maxLength: 70 }).map((bytes) => toBase64(bytes)),
          fc.string({ unit: "binary", maxLength: 40 }),
        ),
      ).map((parts) => parts.join(""));
      const property = fc.asyncProperty(text, async (text) => {
        const error = await thrownBy(() => parseSecret(text));
        if (error === undefined) return;
        assert(error instanceof TypeError && error.message.startsWith("Cannot use a"), String(error));
        assert(text.length < 16 || !error.message.includes(text.slice(6)), error.message);
      });
      await fc.assert(property, { numRuns });
    },
  },
  {
    name: "the key ring is read, or refused by an error that does not tell a key",
    runs: 1000,
    async check(numRuns) {
      const entry = fc.tuple(
        fc.oneof(
          fc.constantFrom("", ":", "a:", "b:", "2026:", "a b:", "__proto__:"),
          fc.string({ maxLength: 4 }),
        ),
        fc.oneof(keyText, fc.base64String({ maxLength: 60 }), fc.string({ unit: "binary", maxLength: 20 })),
      ).map((parts) => parts.join(""));
      const text = fc.array(entry, { maxLength: 4 }).map((entries) => entries.join(","));
      const property = fc.asyncProperty(text, async (text) => {
        const error = await thrownBy(() => KeyRing.read(text));
        if (error === undefined) return;
        assert(error instanceof SecretKeyError, String(error));
        for (const entry of text.split(",")) {
          const secret = entry.slice(entry.indexOf(":") + 1).trim();
          assert(secret.length < 8 || !error.message.includes(secret), error.message);
        }
      });
      await fc.assert(property, { numRuns });
    },
  },
  {
    name: "a sealed text is opened as it was, for its place and with its key alone; any other is refused",
    runs: 300,
    async check(numRuns) {
      const text = fc.tuple(fc.constantFrom("", "\ufeff"), fc.string({ unit: "binary", maxLength: 60 }))
        .map((parts) => parts.join(""));
      const sealedText = fc.oneof(
        textOf(["s1", ":", "new", "old", "s2", "AAAA", "AAAAAAAAAAAAAAAA", "__proto__"], 10),
        fc.tuple(fc.constantFrom("new", "old", "none"), fc.base64String(), fc.base64String())
          .map((parts) => ["s1", ...parts].join(":")),
      );
      const property = fc.asyncProperty(text, text, text, sealedText, fc.nat(), async (...drawn) => {
        const [plain, place, other, random, at] = drawn;
        const sealed = await ring.seal(plain, place);
        assertEquals(await ring.open(sealed, place), plain);
        const spoiled = [...sealed];
        const spot = at % sealed.length;
        spoiled[spot] = spoiled[spot] === "A" ? "B" : "A";
        const attempts = [[random, place], [spoiled.join(""), place]] as const;
        for (const [text, where] of [...attempts, ...(other === place ? [] : [[sealed, other] as const])]) {
          const error = await thrownBy(() => ring.open(text, where));
          assert(error instanceof SecretKeyError, `opened or threw ${error}`);
        }
        const signing = await thrownBy(() => new SecretBox(ring).signer("endpoint", [random]));
        assert(signing instanceof SecretKeyError, `signs, or threw ${signing}`);
      });
      await fc.assert(property, { numRuns });
    },
  },
];
