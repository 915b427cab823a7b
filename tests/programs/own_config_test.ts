import { assert, assertEquals } from "@std/assert";
import denoJson from "../../deno.json" with { type: "json" };

const root = new URL("../../", import.meta.url);

Deno.test("every entry point loads without this repository's import map", async () => {
  // The worker program runs as soon as it is loaded; what it starts is an entry point of its own.
  const { "./worker": _, ...others } = denoJson.exports;
  const urls = [...Object.values(others), "./programs/worker.ts"].map((path) => new URL(path, root).href);
  const script = `for (const url of ${JSON.stringify(urls)}) await import(url);`;
  const { code, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["eval", "--no-config", "--no-lock", script],
    stdout: "null",
    stderr: "piped",
  }).output();
  assert(urls.length > 10);
  assertEquals(code, 0, new TextDecoder().decode(stderr));
});
