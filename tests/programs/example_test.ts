import { assertEquals, assertStringIncludes } from "@std/assert";

Deno.test("deno task example runs to its end and shows what every domain did", async () => {
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", "examples/shop/main.ts"],
    cwd: decodeURIComponent(new URL("../..", import.meta.url).pathname),
    stdin: "null",
  }).output();
  const out = new TextDecoder().decode(stdout);
  assertEquals(success, true, new TextDecoder().decode(stderr));
  for (
    const line of [
      "mail: Dear Ada, thank you for order 1",
      "mail: Dear Edsger, thank you for order 3",
      "webhook: order.placed of Grace, signed true",
      "search index: ada, grace",
      'nightly sweep: {"swept":0}',
    ]
  ) assertStringIncludes(out, line);
});
