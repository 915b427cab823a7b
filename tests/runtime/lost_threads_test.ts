import { assert, assertEquals } from "@std/assert";

Deno.test("stop() warns of a thread that can't be ended, for the process does not end by itself then", async () => {
  const { stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", new URL("./testdata/embeds_a_loop.ts", import.meta.url).href],
  }).output();
  const text = new TextDecoder().decode(stdout);
  assert(text !== "", new TextDecoder().decode(stderr));
  const { lines, lostThreads } = JSON.parse(text);
  assertEquals(lostThreads, 1);
  assertEquals(lines.at(-1), "threads that can't be ended are left: only Deno.exit() ends this process");
});
