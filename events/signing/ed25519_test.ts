import { assert, assertEquals, assertThrows } from "@std/assert";
import { toBase64 } from "./base64.ts";
import { weaknessOf } from "./ed25519.ts";
import { generateKeyPair, parseSecret } from "./secret.ts";
import { WebhookVerifier } from "./verify.ts";

const P = 2n ** 255n - 19n;
const D = -121665n * inverse(121666n);

function inverse(n: bigint): bigint {
  return power(n, P - 2n);
}

function power(base: bigint, exponent: bigint): bigint {
  let result = 1n;
  for (let b = base % P, e = exponent; e > 0n; e /= 2n, b = b * b % P) {
    if (e % 2n === 1n) result = result * b % P;
  }
  return (result + P) % P;
}

type Point = readonly [bigint, bigint];

/** The addition of RFC 8032, 5.1.4, in affine coordinates. */
function add([x1, y1]: Point, [x2, y2]: Point): Point {
  const t = D * x1 * x2 * y1 * y2 % P;
  const x = (x1 * y2 + x2 * y1) * inverse(1n + t) % P;
  const y = (y1 * y2 + x1 * x2) * inverse(1n - t) % P;
  return [(x + P) % P, (y + P) % P];
}

/** The 32 bytes of a y, which may be beyond the prime, and the sign of an x. */
function encoded(y: bigint, sign: bigint): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(32);
  let rest = y + sign * 2n ** 255n;
  for (let place = 0; place < 32; place++, rest /= 256n) bytes[place] = Number(rest % 256n);
  return bytes;
}

/** All points whose order divides 8: the multiples of one of order 8. */
function torsion(): Point[] {
  const y = 0x7a03ac9277fdc74ec6cc392cfa53202a0f67100d760b3cba4fd84d3d706a17c7n;
  const x2 = (y * y - 1n) * inverse(D * y * y + 1n) % P;
  let x = power(x2, (P + 3n) / 8n);
  if ((x * x - x2) % P !== 0n) x = x * power(2n, (P - 1n) / 4n) % P;
  const points: Point[] = [[0n, 1n]];
  for (let at: Point = [x, y]; at[0] !== 0n || at[1] !== 1n; at = add(at, [x, y])) points.push(at);
  return points;
}

Deno.test("a point of small order is no public key, in whatever way it is written", () => {
  const points = torsion();
  assertEquals(points.length, 8);
  let encodings = 0;
  for (const y of new Set(points.map((point) => point[1]))) {
    for (const name of [y, y + P].filter((name) => name < 2n ** 255n)) {
      for (const sign of [0n, 1n]) {
        encodings++;
        const key = encoded(name, sign);
        assert(weaknessOf(key) !== null, toBase64(key));
        assertThrows(() => new WebhookVerifier(`whpk_${toBase64(key)}`), TypeError, "Cannot use a whpk_");
        const secret = `whsk_${toBase64(new Uint8Array([...new Uint8Array(32).fill(7), ...key]))}`;
        assertThrows(() => parseSecret(secret), TypeError, "Cannot use a whsk_");
      }
    }
  }
  assertEquals(encodings, 14);
});

Deno.test("a y that is not below the prime is no public key, and what is generated is one", async () => {
  for (let more = 0n; more < 19n; more++) {
    for (const sign of [0n, 1n]) assert(weaknessOf(encoded(P + more, sign))?.includes("prime"));
  }
  for (let count = 0; count < 20; count++) {
    const { publicKey, privateKey } = await generateKeyPair();
    parseSecret(publicKey);
    parseSecret(privateKey);
  }
});
