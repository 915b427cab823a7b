/** The prime of the field in which the curve of ed25519 lies (RFC 8032, 5.1). */
const P = 2n ** 255n - 19n;

/** y of two of the four points of order 8: twice such a point is `(sqrt(-1), 0)`, so d y^4 + 2 y^2 = 1. The others have -y. */
const Y8 = 0x05fc536d880238b13933c6d305acdfd5f098eff289f4c345b027b2c28f95e826n;

/** y of all points whose order divides 8. */
const SMALL_ORDER: ReadonlySet<bigint> = new Set([0n, 1n, P - 1n, Y8, P - Y8]);

/**
 * Why an ed25519 public key can't be trusted to verify; null when it can. With a point of small order as the key, signatures
 * can be made by anybody, for a good part of all messages; and a y that is not below the prime is one more name of a point,
 * such a one among them. (Web Crypto takes both, as RFC 8032 lets it.)
 */
export function weaknessOf(publicKey: Uint8Array): string | null {
  const y = publicKey.reduceRight((sum, byte) => sum * 256n + BigInt(byte), 0n) % 2n ** 255n;
  if (y >= P) return "its y is not below the prime of the field";
  return SMALL_ORDER.has(y) ? "it is a point of small order, for which anybody can sign" : null;
}
