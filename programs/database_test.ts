import { assert, assertEquals } from "@std/assert";
import { withoutPassword } from "./database.ts";

Deno.test("withoutPassword() shows host, port, user and database, and no secret", () => {
  assertEquals(
    withoutPassword("postgres://ada:s3cret@db:5433/shop?password=other"),
    "postgres://ada@db:5433/shop",
  );
  assertEquals(withoutPassword("postgres://localhost/shop"), "postgres://localhost/shop");
  assertEquals(withoutPassword("host=db password=s3cret"), "not a URL");
});

Deno.test("withoutPassword() shows nothing of a URL whose password is not encoded", () => {
  for (
    const url of [
      "postgres:ada:s3cret@db/shop",
      "postgres://ada:12/s3cret@db/shop",
      "postgres://ada:12#s3cret@db",
    ]
  ) {
    assert(!/s3cret|12/.test(withoutPassword(url)), withoutPassword(url));
  }
});
