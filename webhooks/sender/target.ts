/** Where an endpoint's URL points to, before its name is resolved. */
export interface Target {
  /** The URL in its canonical spelling. */
  readonly url: URL;
  /** Whether it is encrypted. */
  readonly isSecure: boolean;
  /** The name or address, without brackets. */
  readonly hostname: string;
  /** The port. */
  readonly port: number;
}

/** What of a URL is checked beside its address. */
export interface TargetRules {
  /** Whether `http:` is let through. */
  readonly allowHttp: boolean;
  /** Ports that are let through although a service of the inside usually has them. */
  readonly allowPorts: readonly number[];
}

const URL_LENGTH_MAX = 2048;

/** Ports of services that take harm from a request, or take commands by it: mail, shells, databases, orchestration. */
const INTERNAL_PORTS: ReadonlySet<number> = new Set([
  ...[
    1,
    7,
    9,
    11,
    13,
    15,
    17,
    19,
    20,
    21,
    22,
    23,
    25,
    37,
    42,
    43,
    53,
    69,
    77,
    79,
    87,
    95,
    101,
    102,
    103,
    104,
    109,
  ],
  ...[
    110,
    111,
    113,
    115,
    117,
    119,
    123,
    135,
    137,
    139,
    143,
    161,
    179,
    389,
    427,
    445,
    465,
    512,
    513,
    514,
    515,
    526,
  ],
  ...[
    530,
    531,
    532,
    540,
    548,
    554,
    556,
    563,
    587,
    601,
    623,
    636,
    873,
    989,
    990,
    993,
    995,
    1099,
    1433,
    1521,
    1719,
  ],
  ...[
    1720,
    1723,
    2049,
    2181,
    2375,
    2376,
    2379,
    2380,
    3306,
    3389,
    3659,
    4045,
    4190,
    5060,
    5061,
    5432,
    5433,
    5672,
  ],
  ...[
    5900,
    5984,
    5985,
    5986,
    6000,
    6379,
    6380,
    6432,
    6443,
    6566,
    6665,
    6666,
    6667,
    6668,
    6669,
    6697,
    7000,
    7001,
  ],
  ...[
    8086,
    8300,
    8500,
    8600,
    9042,
    9092,
    9100,
    9160,
    9200,
    9300,
    10250,
    10255,
    11211,
    15672,
    26257,
    27017,
    27018,
  ],
  ...[28015, 50000, 50070, 61616],
]);

/**
 * Reads an endpoint's URL and says what is wrong with it, or where it points to. URL parsing brings every spelling of
 * an IPv4 address (decimal, octal, hexadecimal, short, circled digits) to four decimal parts.
 */
export function parseTarget(text: string, rules: TargetRules): Target | string {
  if (typeof text !== "string" || text.length > URL_LENGTH_MAX) {
    return `it is not a URL of at most ${URL_LENGTH_MAX} characters`;
  }
  // deno-lint-ignore no-control-regex -- they are what is looked for: a parser drops or escapes them silently
  if (/[\u0000-\u0020\u007f\\]/.test(text)) return "it holds white space, a control character or a backslash";
  const url = URL.parse(text);
  if (url === null) return "it can't be read as a URL";
  const isSecure = url.protocol === "https:";
  if (!isSecure && url.protocol !== "http:") {
    return `its scheme is ${url.protocol.slice(0, -1)}, expected https`;
  }
  if (!isSecure && !rules.allowHttp) return "its scheme is http, expected https";
  if (url.username !== "" || url.password !== "") return "it holds a user name or a password";
  if (url.hash !== "") return "it holds a fragment, which is never sent";
  const hostname = url.hostname.replace(/^\[|\]$/g, "").replace(/\.$/, "");
  if (hostname === "") return "it names no host";
  const port = url.port === "" ? (isSecure ? 443 : 80) : Number(url.port);
  if (port === 0) return "its port is 0";
  if (INTERNAL_PORTS.has(port) && !rules.allowPorts.includes(port)) {
    return `its port ${port} is usually that of a service which is no web server`;
  }
  return { url, isSecure, hostname, port };
}
