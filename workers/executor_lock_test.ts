import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { pathToFileURL } from "node:url";
import { fixture } from "./testdata/executor_fixture.ts";

Deno.test("what a confined handler imports anew is written to deno.lock, unless deno.json says that it is frozen", async () => {
  const folder = await Deno.makeTempDir({ prefix: "millrace_lock_" });
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    () => new Response("export default 7", { headers: { "content-type": "text/javascript" } }),
  );
  const host = `127.0.0.1:${server.addr.port}`;
  const [config, handler, lock] = ["deno.json", "handler.ts", "deno.lock"].map((name) => `${folder}/${name}`);
  try {
    await Deno.writeTextFile(handler!, "export default async ({ url }) => (await import(url)).default;");
    const run = async (settings: object, path: string) => {
      await Deno.writeTextFile(config!, JSON.stringify(settings));
      await using f = fixture({ config: config! });
      return await f.run({
        handler: pathToFileURL(handler!),
        permissions: { import: [host] },
        args: { url: `http://${host}/${path}` },
      }).ended;
    };
    const frozen = await run({ lock: { frozen: true } }, "a.js");
    assert(frozen.type === "failed", JSON.stringify(frozen));
    assertStringIncludes(frozen.message, "The lockfile is out of date");
    assertEquals([...Deno.readDirSync(folder)].some(({ name }) => name === "deno.lock"), false);
    const free = await run({}, "b.js");
    assert(free.type === "completed", JSON.stringify(free));
    assertStringIncludes(await Deno.readTextFile(lock!), `http://${host}/b.js`);
  } finally {
    await server.shutdown();
    await Deno.remove(folder, { recursive: true });
  }
});
