import { assert, assertEquals, assertFalse } from "@std/assert";
import { isAlive, isPostgres, parsePostmaster } from "./postmaster_file.ts";

Deno.test("parsePostmaster() reads pid, port and status, and nothing out of half a file", () => {
  const text = "4711\n/data\n1700000000\n5433\n\n127.0.0.1\n  12345 6\nready   \n";
  assertEquals(parsePostmaster(text), { pid: 4711, port: 5433, status: "ready" });
  assertEquals(parsePostmaster("4711\n/data\n1700000000\n5433\n")?.status, "");
  assertEquals(parsePostmaster("4711\n/da"), null);
  assertEquals(parsePostmaster(""), null);
});

Deno.test("isPostgres() is false for the dead and for other programs", async () => {
  assert(isAlive(Deno.pid));
  assertFalse(await isPostgres(Deno.pid));
  const child = new Deno.Command("true").spawn();
  await child.status;
  assertFalse(isAlive(child.pid));
  assertFalse(await isPostgres(child.pid));
});
