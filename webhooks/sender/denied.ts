import { parseRange, type Range, rangeHolds, REFUSED_IPV4, REFUSED_IPV6 } from "./addresses.ts";

/**
 * What the sending process's permissions deny: every refused IPv4 range less what is allowed, and of IPv6 the single
 * addresses that permissions can name. Deny beats allow there, so an allowed part is cut out.
 */
export function deniedHosts(allowed: readonly Range[]): string[] {
  const holes = allowed.filter(([address]) => address.kind() === "ipv4").map(interval);
  const ranges = REFUSED_IPV4.flatMap((text) => {
    const [first, last] = interval(parseRange(text));
    let parts: Interval[] = [[first, last]];
    for (const hole of holes) parts = parts.flatMap((part) => less(part, hole));
    return parts.flatMap(toRanges);
  });
  const single = REFUSED_IPV6.filter((text) => {
    // Deno takes a mapped address and its IPv4 twin for one.
    const [address] = parseRange(text.replace(/^::ffff:/, ""));
    return !allowed.some((range) => rangeHolds(range, address));
  });
  return [...ranges, ...single.map((address) => `[${address}]`)];
}

type Interval = readonly [first: number, last: number];

function interval([address, prefix]: Range): Interval {
  const value = address.toByteArray().reduce((sum, byte) => sum * 256 + byte, 0);
  const size = 2 ** (32 - prefix);
  const first = Math.floor(value / size) * size;
  return [first, first + size - 1];
}

function less([first, last]: Interval, [from, to]: Interval): Interval[] {
  if (to < first || from > last) return [[first, last]];
  const parts: Interval[] = [[first, from - 1], [to + 1, last]];
  return parts.filter(([first, last]) => first <= last);
}

/** The fewest ranges that make up an interval. */
function toRanges([first, last]: Interval): string[] {
  const ranges: string[] = [];
  for (let at = first; at <= last;) {
    let bits = 0;
    while (bits < 32 && at % 2 ** (bits + 1) === 0 && at + 2 ** (bits + 1) - 1 <= last) bits++;
    ranges.push(`${[24, 16, 8, 0].map((shift) => Math.floor(at / 2 ** shift) % 256).join(".")}/${32 - bits}`);
    at += 2 ** bits;
  }
  return ranges;
}
