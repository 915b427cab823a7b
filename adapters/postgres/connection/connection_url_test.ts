import { assertEquals, assertFalse, assertStringIncludes, assertThrows } from "@std/assert";
import { InvalidOptionError } from "../../../ports/errors.ts";
import { databaseUrl } from "../fixture_test.ts";
import { type ConnectionUrl, readConnectionUrl } from "./connection_url.ts";
import { PostgresDatabase } from "./database.ts";

const BARE = "postgres://app:s3cret@db.example:5433/shop";

const PLAIN: ConnectionUrl = {
  url: BARE,
  ssl: false,
  sslNegotiation: "postgres",
  socket: null,
  session: {},
  isPooled: null,
  connectTimeoutMs: null,
};

const VERIFIED = { host: "db.example" };

const HONOURED: readonly [parameters: string, Partial<ConnectionUrl>][] = [
  ["", {}],
  ["sslmode=disable", {}],
  ["sslmode=prefer", { ssl: "prefer" }],
  ["sslmode=require&channel_binding=prefer", { ssl: "require" }],
  ["sslmode=verify-ca", { ssl: VERIFIED }],
  ["sslmode=verify-full&sslrootcert=system", { ssl: VERIFIED }],
  ["sslrootcert=system", { ssl: VERIFIED }],
  ["ssl=true", { ssl: VERIFIED }],
  ["ssl=false", {}],
  ["sslmode=require&sslnegotiation=direct", { ssl: "require", sslNegotiation: "direct" }],
  ["pgbouncer=true&connect_timeout=15", { isPooled: true, connectTimeoutMs: 15_000 }],
  ["pgbouncer=false", { isPooled: false }],
  ["target_session_attrs=read-write&gssencmode=disable", {}],
  ["application_name=shop&options=-c%20geqo%3Doff", {
    session: { application_name: "shop", options: "-c geqo=off" },
  }],
  ["host=/cloudsql/a:b:c&sslmode=require", { socket: "/cloudsql/a:b:c/.s.PGSQL.5433" }],
];

for (const [parameters, expected] of HONOURED) {
  Deno.test(`readConnectionUrl() does what the URL asks for: ${parameters || "nothing"}`, () => {
    assertEquals(readConnectionUrl(`${BARE}?${parameters}`), { ...PLAIN, ...expected });
  });
}

const REFUSED: readonly [parameters: string, ...says: string[]][] = [
  ["channel_binding=require", "the parameter channel_binding", '"require"', "sslmode=verify-full"],
  ["sslmode=verify_full", "the parameter sslmode", '"verify_full"', "verify-ca, verify-full"],
  ["ssl_mode=verify-full", "the parameter ssl_mode", "sslmode", "options=-c%20name=value"],
  ["sslmode=allow", "the parameter sslmode", '"allow"'],
  ["sslmode=require&sslmode=disable", "the parameter sslmode", "once"],
  ["sslmode=require&ssl=true", "the parameter ssl", "beside sslmode"],
  ["sslmode=require&sslrootcert=system", "the parameter sslmode", "verify-full beside sslrootcert"],
  ["sslrootcert=/etc/ca.pem", "the parameter sslrootcert", "DENO_CERT"],
  ["sslcert=/etc/me.pem", "the parameter sslcert", "password"],
  ["gssencmode=require", "the parameter gssencmode", "disable, prefer"],
  ["require_auth=scram-sha-256", "the parameter require_auth", "one of"],
  ["target_session_attrs=standby", "the parameter target_session_attrs", "read-write"],
  ["password=s3cret", "the parameter password", "before the host"],
  ["host=db.example", "the parameter host", "folder of a socket"],
  ["connect_timeout=0", "the parameter connect_timeout", "seconds"],
  ["connection_limit=1", "the parameter connection_limit", "poolSize"],
  ["schema=public", "the parameter schema", "--schema"],
  ["constructor=1", "the parameter constructor", "one of"],
  ["statement_timeout=0", "the parameter statement_timeout", "statementTimeoutMs"],
  ["default_transaction_isolation=serializable", "default_transaction_isolation", "options=-c%20name=value"],
];

for (const [parameters, ...says] of REFUSED) {
  Deno.test(`readConnectionUrl() refuses what can't be had, and says what to do: ${parameters}`, () => {
    const error = assertThrows(() => readConnectionUrl(`${BARE}?${parameters}`), InvalidOptionError);
    for (const text of ["of url", ...says]) assertStringIncludes(error.message, text);
    assertFalse(error.message.includes("s3cret"), error.message);
  });
}

Deno.test("readConnectionUrl() has an address verified as an address", () => {
  for (const [host, name] of [["192.0.2.7", "192.0.2.7"], ["[2001:db8::7]", "2001:db8::7"]] as const) {
    assertEquals(readConnectionUrl(`postgres://a:b@${host}:5432/c?sslmode=verify-full`).ssl, { host: name });
  }
});

Deno.test("readConnectionUrl() refuses several hosts, and says what to name instead", () => {
  for (const hosts of ["h1:5432,h2:5432", "h1,h2"]) {
    const error = assertThrows(
      () => readConnectionUrl(`postgres://a,b:s3cret@${hosts}/shop?target_session_attrs=read-write`),
      InvalidOptionError,
    );
    assertStringIncludes(error.message, "one host: name an address that leads to the primary");
    assertFalse(error.message.includes("s3cret"), error.message);
  }
  assertEquals(readConnectionUrl("postgres://a,b:c,d@h1/shop").url, "postgres://a,b:c,d@h1/shop");
});

Deno.test("what a URL says of its sessions holds, but for what Millrace relies on", async () => {
  const url = new URL(databaseUrl());
  url.search = "application_name=shop&options=-c%20geqo%3Doff%20-c%20TimeZone%3DAsia/Tokyo";
  const database = PostgresDatabase.connect({ url: url.href, poolSize: 1, listen: "off" });
  try {
    const [row] = await database.query(
      "select current_setting('application_name') as name, current_setting('geqo') as geqo, current_setting('TimeZone') as zone",
    );
    assertEquals(row, { name: "shop", geqo: "off", zone: "UTC" });
  } finally {
    await database.close();
  }
});

Deno.test("pgbouncer=true prepares no statement, and an option says otherwise", async () => {
  const url = new URL(databaseUrl());
  url.search = "pgbouncer=true";
  for (const [options, isPooled] of [[{}, true], [{ preparedStatements: true }, false]] as const) {
    const database = PostgresDatabase.connect({ url: url.href, poolSize: 1, listen: "off", ...options });
    try {
      await database.query("select $1::int as n", [1]);
      const [row] = await database.query(
        "select count(*)::int as n from pg_prepared_statements where statement ~ 'as n$'",
      );
      assertEquals([database.isPooled, row?.n === 0], [isPooled, isPooled]);
    } finally {
      await database.close();
    }
  }
});
