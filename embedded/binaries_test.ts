import { assert, assertEquals } from "@std/assert";
import { EMBEDDED_VERSIONS } from "./platform.ts";

Deno.test("processes that fill an empty cache at once all get whole binaries, and leave no halves", async () => {
  const cache = `${await Deno.makeTempDir()}/a cache`;
  const script = `
    import { ensureBinaries } from ${JSON.stringify(new URL("./binaries.ts", import.meta.url).href)};
    console.log(await ensureBinaries(${JSON.stringify(EMBEDDED_VERSIONS["18"])}));
  `;
  const run = () =>
    new Deno.Command(Deno.execPath(), { args: ["eval", script], env: { MILLRACE_CACHE_DIR: cache } })
      .output();
  try {
    const outputs = await Promise.all([run(), run()]);
    const paths = outputs.map(({ stdout }) => new TextDecoder().decode(stdout).trim());
    assertEquals(paths[0], paths[1]);
    assert(paths[0]!.startsWith(cache));
    assertEquals([...Deno.readDirSync(cache)].length, 1);
    const version = await new Deno.Command(`${paths[0]}/bin/postgres`, { args: ["--version"] }).output();
    assert(new TextDecoder().decode(version.stdout).startsWith("postgres (PostgreSQL) 18"));
    assertEquals(Deno.statSync(`${paths[0]}/share/postgresql/postgres.bki`).mode! & 0o777, 0o644);
  } finally {
    await Deno.remove(cache.slice(0, -"/a cache".length), { recursive: true });
  }
});
