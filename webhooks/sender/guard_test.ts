import { assert, assertEquals, assertThrows } from "@std/assert";
import ipaddr from "./ipaddr.ts";
import { isPublic, parseAddress, parseRange, REFUSED_IPV4, REFUSED_IPV6 } from "./addresses.ts";
import { deniedHosts } from "./denied.ts";
import { EgressGuard } from "./guard.ts";
import { INSIDE } from "./testdata/inside.ts";

const open = new EgressGuard({ allowHttp: true });

Deno.test("check() refuses every spelling of the inside, and does not say what is there", async () => {
  for (const host of INSIDE) {
    const verdict = await open.check(`http://${host}:8080/hook`);
    assertEquals(verdict.type, "refused", `${host}: ${JSON.stringify(verdict)}`);
    assert(verdict.type !== "refused" || !/\d/.test(verdict.reason), JSON.stringify(verdict));
  }
});

Deno.test("check() refuses a name that resolves to the inside, be it one address of several", async () => {
  const inside = [
    "::ffff:127.0.0.1",
    "127.0.0.1",
    "fd00::1",
    "fe80::1%eth0",
    "64:ff9b::a00:1",
    "127.1",
    "nonsense",
  ];
  for (const address of inside) {
    for (const answer of [[address], ["8.8.8.8", address], [address, "2606:4700::1111"]]) {
      const guard = new EgressGuard({ resolve: () => Promise.resolve(answer) });
      assertEquals((await guard.check("https://hooks.example/")).type, "refused", answer.join());
    }
  }
});

Deno.test("check() lets the public Internet through, IPv4 first", async () => {
  const resolve = () => Promise.resolve(["2606:4700::1111", "8.8.8.8"]);
  const verdict = await new EgressGuard({ resolve }).check("https://hooks.example./a?b=1");
  assert(verdict.type === "allowed");
  assertEquals(verdict.addresses, ["8.8.8.8", "2606:4700::1111"]);
  assertEquals(verdict.target.port, 443);
  assertEquals(verdict.target.hostname, "hooks.example");
  const literal = await open.check("http://[2606:4700::1111]/");
  assert(literal.type === "allowed");
  assertEquals(literal.addresses, ["2606:4700::1111"]);
});

Deno.test("check() says when a name can't be resolved, which is no refusal", async () => {
  for (const resolve of [() => Promise.reject(new Error("NXDOMAIN")), () => Promise.resolve([])]) {
    assertEquals((await new EgressGuard({ resolve }).check("https://hooks.example/")).type, "unresolved");
  }
});

Deno.test("check() resolves a name once for many deliveries", async () => {
  let asked = 0;
  const guard = new EgressGuard({ resolve: () => Promise.resolve((asked++, ["8.8.8.8"])) });
  await Promise.all(Array.from({ length: 100 }, () => guard.check("https://hooks.example/")));
  assertEquals(asked, 1);
});

Deno.test("check() refuses URLs that are no webhook's", async () => {
  const guard = new EgressGuard({ resolve: () => Promise.resolve(["8.8.8.8"]) });
  const bad = [
    "",
    "hooks.example",
    "http://hooks.example/",
    "ftp://hooks.example/",
    "file:///etc/passwd",
    "https://user@hooks.example/",
    "https://user:password@hooks.example/",
    "https://hooks.example/#fragment",
    "https://hooks.example:0/",
    "https://hooks.example:22/",
    "https://hooks.example:5432/",
    "https://hooks.example:6379/",
    "https://hooks.example\\@127.0.0.1/",
    "https://hooks.exa mple/",
    "https://hooks.example/\r\nX-Evil: 1",
    `https://hooks.example/${"a".repeat(2048)}`,
  ];
  for (const url of bad) assertEquals((await guard.check(url)).type, "refused", url);
  const lenient = new EgressGuard({ allowPorts: [5432], resolve: () => Promise.resolve(["8.8.8.8"]) });
  assertEquals((await lenient.check("https://hooks.example:5432/")).type, "allowed");
});

Deno.test("allowAddresses lets through what it names, and nothing beside it", async () => {
  const guard = new EgressGuard({ allowHttp: true, allowAddresses: ["127.0.0.1", "10.1.0.0/16", "::1"] });
  for (const host of ["127.0.0.1", "127.1", "10.1.2.3", "[::1]"]) {
    assertEquals((await guard.check(`http://${host}:8080/`)).type, "allowed", host);
  }
  for (const host of ["127.0.0.2", "10.2.0.1", "[::ffff:127.0.0.1]", "[::2]"]) {
    assertEquals((await guard.check(`http://${host}:8080/`)).type, "refused", host);
  }
  for (
    const bad of ["", "127.1", "10.0.0.0/33", "10.0.0.0/8/8", "hooks.example", "fd00::/129", "10.0.0.0/-1"]
  ) {
    assertThrows(() => new EgressGuard({ allowAddresses: [bad] }), TypeError, "range of addresses");
  }
});

Deno.test("the permissions deny what the guard refuses", () => {
  const ranges = REFUSED_IPV4.map(parseRange);
  for (const [address, prefix] of ranges) {
    const cidr = `${address}/${prefix}`;
    for (
      const edge of [ipaddr.IPv4.networkAddressFromCIDR(cidr), ipaddr.IPv4.broadcastAddressFromCIDR(cidr)]
    ) {
      assert(!isPublic(edge), `${edge}`);
    }
  }
  for (const address of REFUSED_IPV6) assert(!isPublic(parseAddress(address)!));
  // Both lists say the same of addresses all over.
  for (let index = 0; index < 20_000; index++) {
    const address = new ipaddr.IPv4(Array.from({ length: 4 }, () => Math.floor(Math.random() * 256)));
    assertEquals(
      isPublic(address),
      !ranges.some(([base, prefix]) => address.match(base as ipaddr.IPv4, prefix)),
    );
  }
});

Deno.test("deniedHosts() cuts out what is allowed", () => {
  const denied = deniedHosts([parseRange("127.0.0.1"), parseRange("10.0.0.0/8"), parseRange("::1")]);
  const ranges = denied.filter((entry) => entry.includes("/")).map(parseRange);
  const isDenied = (text: string) => {
    const address = ipaddr.IPv4.parse(text);
    return ranges.some(([base, prefix]) => address.match(base as ipaddr.IPv4, prefix));
  };
  assertEquals(["127.0.0.1", "10.0.0.0", "10.255.255.255", "8.8.8.8"].map(isDenied), [
    false,
    false,
    false,
    false,
  ]);
  assertEquals(
    ["127.0.0.0", "127.0.0.2", "127.255.255.255", "0.0.0.0", "192.168.0.1", "255.255.255.255"].map(isDenied),
    [
      true,
      true,
      true,
      true,
      true,
      true,
    ],
  );
  assert(!denied.includes("[::1]") && denied.includes("[::]"));
  assertEquals(deniedHosts([]).filter((entry) => entry.includes("/")), [...REFUSED_IPV4]);
});
