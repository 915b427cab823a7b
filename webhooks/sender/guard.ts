import { lookup } from "node:dns/promises";
import { callback, checkOptions, flag, integer, list, type Options } from "../../shared/options.ts";
import { RESOLVE_MS_MAX } from "../settings.ts";
import { isPublic, parseAddress, parseRange, type Range, rangeHolds } from "./addresses.ts";
import { deniedHosts } from "./denied.ts";
import { parseTarget, type Target } from "./target.ts";

/** Where webhooks may go. The defaults let through https to the public Internet and nothing else. */
export interface EgressOptions {
  /** Lets `http:` URLs through: bodies and signatures can be read on the way. Default false. */
  readonly allowHttp?: boolean;
  /**
   * Addresses and ranges that are reached although they are not public: `10.1.0.0/16`, `127.0.0.1`, `fd12::/16`. For
   * targets of one's own network, and for tests. Default none.
   */
  readonly allowAddresses?: readonly string[];
  /** Ports that are reached although a database, a mail server or the like usually has them. Default none. */
  readonly allowPorts?: readonly number[];
  /** Resolves a host name to addresses. Default the system's resolver. What it answers is checked as everything is. */
  readonly resolve?: (hostname: string) => Promise<readonly string[]>;
}

/** What the guard says of a URL. */
export type Verdict =
  | {
    readonly type: "allowed";
    /** What is connected to, and nothing else, in the order in which they are tried. */
    readonly addresses: readonly string[];
    /** What the URL says. */
    readonly target: Target;
  }
  /** It is refused, for good. The sentence names no address: that would tell what a name means inside. */
  | { readonly type: "refused"; readonly reason: string }
  /** Its name could not be resolved now. */
  | { readonly type: "unresolved"; readonly reason: string };

const PORT = integer({ min: 1, max: 65_535 });
const EGRESS: Options<EgressOptions> = {
  allowHttp: flag(),
  allowAddresses: list("a list of addresses and ranges"),
  allowPorts: {
    expected: "a list of integers from 1 to 65,535",
    accepts: (ports) => Array.isArray(ports) && ports.every(PORT.accepts),
  },
  resolve: callback("a function of a host name"),
};
/** An answer is kept for a moment: a fan-out resolves a name once and not once per delivery. */
const KEPT_MS = 5000;
const KEPT_MAX = 1000;

/**
 * Decides which addresses webhooks may be sent to. The address is checked and then connected to as it stands, so a name
 * that resolves to something else the next time changes nothing.
 */
export class EgressGuard {
  #allowHttp: boolean;
  #allowPorts: readonly number[];
  #allowed: readonly Range[];
  #resolve: (hostname: string) => Promise<readonly string[]>;
  #kept = new Map<string, { readonly until: number; readonly addresses: Promise<readonly string[]> }>();

  /**
   * Reads the options.
   *
   * @throws {TypeError} an allowed range can't be read.
   * @throws {InvalidOptionError} an option is unknown, or an allowed port is none.
   */
  constructor(options: EgressOptions = {}) {
    checkOptions("egress", options, EGRESS);
    const { allowHttp = false, allowPorts = [], allowAddresses = [], resolve = systemResolver } = options;
    this.#allowHttp = allowHttp;
    this.#allowPorts = allowPorts;
    this.#allowed = allowAddresses.map(parseRange);
    this.#resolve = resolve;
  }

  /** What the sending process is denied by its permissions: a second wall. */
  get denied(): readonly string[] {
    return deniedHosts(this.#allowed);
  }

  /** Whether a URL may be sent to, and to which addresses. */
  async check(url: string): Promise<Verdict> {
    const target = parseTarget(url, { allowHttp: this.#allowHttp, allowPorts: this.#allowPorts });
    if (typeof target === "string") return { type: "refused", reason: target };
    const literal = parseAddress(target.hostname);
    let addresses: readonly string[];
    if (literal !== null) {
      addresses = [literal.toString()];
    } else {
      try {
        addresses = await this.#lookUp(target.hostname);
      } catch {
        return { type: "unresolved", reason: "its host name could not be resolved" };
      }
      if (addresses.length === 0) return { type: "unresolved", reason: "its host name has no address" };
    }
    // One bad address among good ones is a name that means harm, or two views of one name.
    const isAllowed = addresses.every((text) => {
      const address = parseAddress(text);
      return address !== null &&
        (isPublic(address) || this.#allowed.some((range) => rangeHolds(range, address)));
    });
    if (!isAllowed) {
      return { type: "refused", reason: "its host is not on the public Internet, or is reserved" };
    }
    return { type: "allowed", addresses: byTurns(addresses), target };
  }

  #lookUp(hostname: string): Promise<readonly string[]> {
    const now = performance.now();
    const kept = this.#kept.get(hostname);
    if (kept !== undefined && kept.until > now) return kept.addresses;
    const addresses = bounded(this.#resolve(hostname));
    if (this.#kept.size >= KEPT_MAX) this.#kept.clear();
    this.#kept.set(hostname, { until: now + KEPT_MS, addresses });
    return addresses;
  }
}

/** IPv4 first, for it reaches everywhere; then by turns, so that a family that does not work here costs one try. */
function byTurns(addresses: readonly string[]): readonly string[] {
  const [four, six] = [false, true].map((isSix) => addresses.filter((text) => text.includes(":") === isSix));
  return addresses.flatMap((_, index) => [...four!.slice(index, index + 1), ...six!.slice(index, index + 1)]);
}

async function systemResolver(hostname: string): Promise<readonly string[]> {
  const answers = await lookup(hostname, { all: true });
  return answers.map(({ address }) => address);
}

async function bounded(addresses: Promise<readonly string[]>): Promise<readonly string[]> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${RESOLVE_MS_MAX} ms`)), RESOLVE_MS_MAX);
  });
  try {
    return await Promise.race([addresses, late]);
  } finally {
    clearTimeout(timer);
  }
}
