import fc from "../../conformance/fast_check.ts";
import { assert, assertEquals } from "../../support/assert.ts";
import { generateKeyPair, generateSecret } from "../../../events/signing/secret.ts";
import { Signer } from "../../../events/signing/signer.ts";
import { WebhookVerificationError, WebhookVerifier } from "../../../events/signing/verify.ts";
import { textOf, thrownBy } from "../hostile.ts";
import type { Property } from "../property.ts";

const NOW_S = 1_800_000_000;
const REASONS = [
  "missing header",
  "malformed header",
  "too old",
  "too new",
  "unsupported signature",
  "wrong signature",
  "body too large",
];
const NAMES = ["webhook-id", "webhook-timestamp", "webhook-signature"] as const;
const MAX_BYTES = 200;

const secret = generateSecret();
const pair = await generateKeyPair();
const options = { now: () => NOW_S * 1000, maxBytes: MAX_BYTES };
const verifier = new WebhookVerifier([secret, pair.publicKey], options);
const signer = await Signer.from([secret, pair.privateKey]);

const base64 = fc.oneof(
  fc.uint8Array({ maxLength: 70 }).map((bytes) => bytes.toBase64()),
  textOf(["=", "==", "-", "_", "+", "/", "A", "\n", " ", "\u0661"], 12),
);
const signature = fc.tuple(
  fc.constantFrom("v1", "v1a", "v2", "V1", "v", "", "v1 ", "v1,v1", "v01", "whsec_", "__proto__"),
  fc.constantFrom(",", "", ",,", "=", ", "),
  base64,
).map((parts) => parts.join(""));
const signatures = fc.oneof(
  fc.array(signature, { maxLength: 40 }).map((all) => all.join(" ")),
  textOf(["v1,", "v1a,", " ", ",", "\0", "\n"], 20),
);
// Most are as they should be, so that what comes after them is reached.
const timestamp = fc.oneof(
  { weight: 12, arbitrary: fc.integer({ min: NOW_S - 400, max: NOW_S + 400 }).map(String) },
  fc.bigInt({ min: -(10n ** 30n), max: 10n ** 30n }).map(String),
  fc.double().map(String),
  textOf(["0", "1", "9", "e", "+", "-", ".", "0x", " ", "NaN", "Infinity", `${NOW_S}`], 6),
);
const id = fc.oneof(
  { weight: 12, arbitrary: fc.constant("evt_1") },
  fc.constantFrom(".", "a.b", "\0"),
  textOf([".", "evt", " ", "\u00e9"], 4),
  fc.string({ maxLength: 300 }),
);
const body = fc.oneof(
  fc.uint8Array({ maxLength: 2 * MAX_BYTES }),
  fc.string({ unit: "binary", maxLength: MAX_BYTES }),
);
const absent = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined, freq: 12 });
const headers = fc.tuple(absent(id), absent(timestamp), absent(signatures), fc.boolean()).map(
  ([id, timestamp, signature, isList]) =>
    Object.fromEntries(
      [id, timestamp, signature].map((value, n) => [
        n % 2 === 0 ? NAMES[n]! : NAMES[n]!.toUpperCase(),
        isList && value !== undefined ? [value, "another"] : value,
      ]),
    ),
);

/** One change of a message that was signed. */
const change = fc.oneof(
  fc.record({ what: fc.constant("body" as const), at: fc.nat(), bit: fc.nat(7) }),
  fc.record({ what: fc.constant("longer" as const), with: fc.uint8Array({ minLength: 1, maxLength: 4 }) }),
  fc.record({ what: fc.constant("time" as const), by: fc.integer({ min: 1, max: 200 }) }),
  fc.record({ what: fc.constant("id" as const), to: fc.string({ minLength: 1, maxLength: 8 }) }),
  fc.record({ what: fc.constant("signature" as const), at: fc.nat(), bit: fc.nat(7) }),
);

async function refused(message: Parameters<WebhookVerifier["verify"]>[0]): Promise<void> {
  const error = await thrownBy(() => verifier.verify(message));
  assert(error instanceof WebhookVerificationError, `verify() threw ${error}`);
  assert(REASONS.includes(error.reason), error.reason);
  assert(!error.message.includes(secret.slice(6)));
}

export const webhookVerifierProperties: readonly Property[] = [
  {
    name: "the webhook verifier refuses random headers and bodies, with a reason, and throws nothing else",
    runs: 2000,
    async check(numRuns) {
      const property = fc.asyncProperty(headers, body, (headers, body) => refused({ headers, body }));
      await fc.assert(property, { numRuns });
    },
  },
  {
    name: "the webhook verifier takes what was signed among any other signatures, and refuses it changed",
    runs: 500,
    async check(numRuns) {
      const others = fc.array(signature, { maxLength: 10 });
      const text = fc.uint8Array({ maxLength: MAX_BYTES - 4 });
      const property = fc.asyncProperty(
        text,
        others,
        change,
        fc.constantFrom(0, 1),
        async (body, others, change, n) => {
          const signed = { ...await signer.sign("evt_1", NOW_S, body) };
          const right = signed["webhook-signature"].split(" ")[n]!;
          const all = [...others.slice(0, 5), right, ...others.slice(5)].join(" ");
          // What is looked at is bounded, and some of the others hold spaces.
          const headers = {
            ...signed,
            "webhook-signature": all.split(" ", 32).includes(right) ? all : right,
          };
          const verified = await verifier.verify({ headers, body });
          assertEquals([verified.id, verified.body], ["evt_1", new Uint8Array(body)]);
          const changed = changedBy(change, { ...signed, "webhook-signature": right }, body);
          if (changed !== null) await refused(changed);
        },
      );
      await fc.assert(property, { numRuns });
    },
  },
];

type Change = typeof change extends fc.Arbitrary<infer T> ? T : never;

/** The message with one thing changed; null where the change happens to change nothing. */
function changedBy(
  change: Change,
  headers: Record<typeof NAMES[number], string>,
  body: Uint8Array,
): { headers: Record<string, string>; body: Uint8Array } | null {
  switch (change.what) {
    case "body":
      return body.length === 0 ? null : { headers, body: flipped(body, change.at, change.bit) };
    case "longer":
      return { headers, body: new Uint8Array([...body, ...change.with]) };
    case "time":
      return { headers: { ...headers, "webhook-timestamp": String(NOW_S + change.by) }, body };
    case "id":
      return change.to === "evt_1" ? null : { headers: { ...headers, "webhook-id": change.to }, body };
    case "signature": {
      const [version, text] = headers["webhook-signature"].split(",");
      const bytes = flipped(Uint8Array.fromBase64(text!), change.at, change.bit);
      return { headers: { ...headers, "webhook-signature": `${version},${bytes.toBase64()}` }, body };
    }
  }
}

function flipped(bytes: Uint8Array, at: number, bit: number): Uint8Array {
  const other = new Uint8Array(bytes);
  other[at % other.length]! ^= 1 << bit;
  return other;
}
