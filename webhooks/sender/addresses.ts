import ipaddr from "./ipaddr.ts";

/** An address as the guard reads it. */
export type Address = ipaddr.IPv4 | ipaddr.IPv6;
/** A range of addresses. */
export type Range = readonly [Address, number];

/**
 * The IPv4 ranges that no webhook goes to: what IANA's registry of special addresses lists, what clouds answer their
 * machines' metadata on outside of it, multicast and the rest above. This list is also the wall under the guard, in
 * the permissions of the process that sends.
 */
export const REFUSED_IPV4: readonly string[] = [
  "0.0.0.0/8",
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  "168.63.129.16/32",
  "169.254.0.0/16",
  "172.16.0.0/12",
  "192.0.0.0/24",
  "192.0.2.0/24",
  "192.31.196.0/24",
  "192.52.193.0/24",
  "192.88.99.0/24",
  "192.168.0.0/16",
  "192.175.48.0/24",
  "198.18.0.0/15",
  "198.51.100.0/24",
  "203.0.113.0/24",
  "224.0.0.0/3",
];

/** The IPv6 addresses that the permissions can name: they know no ranges of IPv6. The guard refuses all of the kind. */
export const REFUSED_IPV6: readonly string[] = [
  "::",
  "::1",
  "::ffff:127.0.0.1",
  "::ffff:169.254.169.254",
  "fd00:ec2::254",
];

const RANGE_SHOWN_MAX = 100;
const refusedIpv4 = REFUSED_IPV4.map(parseRange);
const globalUnicast = ipaddr.parseCIDR("2000::/3");

/** Reads an address in its own canonical forms: four decimal parts, or IPv6. Null for anything else. */
export function parseAddress(text: string): Address | null {
  if (ipaddr.IPv4.isValidFourPartDecimal(text)) return ipaddr.IPv4.parse(text);
  return text.includes(":") && ipaddr.IPv6.isValid(text) ? ipaddr.IPv6.parse(text) : null;
}

/** Reads `10.1.0.0/16`, or an address alone. */
export function parseRange(text: string): Range {
  const [head = "", bits, ...more] = typeof text === "string" ? text.split("/") : [];
  const address = parseAddress(head);
  const length = address?.kind() === "ipv4" ? 32 : 128;
  const prefix = bits === undefined ? length : /^\d{1,3}$/.test(bits) ? Number(bits) : NaN;
  if (address === null || more.length > 0 || !(prefix <= length)) {
    throw new TypeError(
      `Cannot use ${
        typeof text === "string"
          ? JSON.stringify(text.slice(0, RANGE_SHOWN_MAX))
          : `a value of type ${typeof text}`
      } as a range of addresses: expected 10.1.0.0/16, 127.0.0.1, fd00::/8, ...`,
    );
  }
  return [address, prefix];
}

/** Whether a range holds an address. A mapped address is not its IPv4 twin here. */
export function rangeHolds([base, prefix]: Range, address: Address): boolean {
  return base.kind() === address.kind() && address.match(base as ipaddr.IPv4 & ipaddr.IPv6, prefix);
}

/** Whether an address belongs to the public Internet, as whoever sends by someone else's word must want it. */
export function isPublic(address: Address): boolean {
  if (address.range() !== "unicast") return false;
  if (address instanceof ipaddr.IPv4) return !refusedIpv4.some((range) => rangeHolds(range, address));
  // Outside of 2000::/3 there is nothing public: IPv4-compatible ::/96, old site-local, NAT64 of one's own.
  if (!address.match(globalUnicast)) return false;
  // ISATAP: an IPv4 address in the lower half, whatever the upper half is.
  const [, , , , fifth, sixth] = address.parts;
  return !((fifth === 0 || fifth === 0x200) && sixth === 0x5efe);
}
