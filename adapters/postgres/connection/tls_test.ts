import { assert, assertEquals, assertFalse, assertRejects, assertStringIncludes } from "@std/assert";
import { fileURLToPath } from "node:url";
import { giveTo, serverAccount } from "../../../embedded/account.ts";
import { startEmbedded } from "../../../embedded/mod.ts";
import { DatabaseUnavailableError } from "../../../ports/errors.ts";
import { databaseUrl } from "../fixture_test.ts";
import { PostgresDatabase } from "./database.ts";

const TLS = new URL("../testdata/tls/", import.meta.url);

/** What a program of its own says that connects, for certificates are a matter of the environment. */
async function connects(url: string, parameters: string, env: Record<string, string> = {}): Promise<string> {
  const { stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "--allow-all",
      "--no-check",
      fileURLToPath(new URL("../testdata/connects.ts", import.meta.url)),
      `${url}?${parameters}`,
    ],
    env,
    stdin: "null",
  }).output();
  return new TextDecoder().decode(stdout) || new TextDecoder().decode(stderr);
}

Deno.test("sslmode is kept to: encrypted, verified, or no connection; a socket needs neither", async () => {
  const folder = await Deno.makeTempDir({ prefix: "millrace_tls_" });
  const account = await serverAccount();
  try {
    for (const name of ["localhost.pem", "localhost.key"]) {
      await Deno.copyFile(new URL(name, TLS), `${folder}/${name}`);
      await Deno.chmod(`${folder}/${name}`, 0o600);
      await giveTo(account, `${folder}/${name}`);
    }
    await giveTo(account, folder);
    await using server = await startEmbedded({
      ephemeral: true,
      settings: {
        ssl: "on",
        ssl_cert_file: `${folder}/localhost.pem`,
        ssl_key_file: `${folder}/localhost.key`,
        unix_socket_directories: folder,
      },
    });
    const url = server.url.replace("127.0.0.1", "localhost");
    const trusting = { DENO_CERT: fileURLToPath(new URL("ca.pem", TLS)) };
    const [require, prefer, disable, socket, verified, unknown, otherName] = await Promise.all([
      connects(url, "sslmode=require"),
      connects(url, "sslmode=prefer"),
      connects(url, "sslmode=disable"),
      connects(url, `host=${encodeURIComponent(folder)}&sslmode=require`),
      connects(url, "sslmode=verify-full", trusting),
      connects(url, "sslmode=verify-full"),
      connects(server.url, "sslmode=verify-full", trusting),
    ]);
    assertEquals([require, prefer, disable, socket, verified], [
      "ssl true",
      "ssl true",
      "ssl false",
      "ssl false",
      "ssl true",
    ]);
    for (const refused of [unknown!, otherName!]) {
      assertStringIncludes(refused, "DatabaseUnavailableError");
      assertStringIncludes(refused, "DENO_CERT");
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("where a server has no TLS, sslmode=require sends neither name nor password", async () => {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  let received = "";
  const serving = (async () => {
    for await (const connection of listener) {
      const bytes = new Uint8Array(1024);
      for (let first = true;; first = false) {
        const count = await connection.read(bytes).catch(() => null);
        if (count === null) break;
        received += new TextDecoder().decode(bytes.subarray(0, count));
        if (first) await connection.write(new TextEncoder().encode("N"));
      }
    }
  })();
  const database = PostgresDatabase.connect({
    url: `postgres://someone:s3cret@127.0.0.1:${listener.addr.port}/shop?sslmode=require`,
    poolSize: 1,
    connectTimeoutMs: 500,
    listen: "off",
  });
  await assertRejects(() => database.query("select 1"), DatabaseUnavailableError);
  await database.close();
  listener.close();
  await serving;
  assert(received.length >= 8, received);
  assertFalse(/someone|s3cret|shop/.test(received), received);
});

Deno.test("an error says that a server has no TLS, and what to do", async () => {
  const url = new URL(databaseUrl());
  url.searchParams.set("sslmode", "require");
  const database = PostgresDatabase.connect({ url: url.href, poolSize: 1, listen: "off" });
  const error = await assertRejects(() => database.query("select 1"), DatabaseUnavailableError);
  await database.close();
  assertStringIncludes(error.message, "Cannot reach the database over TLS: the server has none");
  assertStringIncludes(error.message, "sslmode=disable");
});
