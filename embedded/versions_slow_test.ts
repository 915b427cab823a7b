import { assertStringIncludes } from "@std/assert";
import { EMBEDDED_VERSIONS, startEmbedded } from "./mod.ts";

for (const [major, exact] of Object.entries(EMBEDDED_VERSIONS)) {
  Deno.test(`PostgreSQL ${major} starts, and its data is that version's`, async () => {
    await using server = await startEmbedded({ version: major, ephemeral: true });
    assertStringIncludes(server.version, exact);
    assertStringIncludes(await Deno.readTextFile(`${server.directory}/data/PG_VERSION`), major);
  });
}
