import { assertEquals } from "@std/assert";
import { withStore } from "../fixture_test.ts";

const KIND = { name: "k", queue: "q", maxAttempts: 3 };

Deno.test("a kind is stored whole as the newest living process declares it, and never while an older program lives", () =>
  withStore(async ({ store }) => {
    const stored = async () =>
      (await store.database.query("select queue, max_attempts, key_while::text from {schema}.kind"))
        .map(({ queue, max_attempts, key_while }) => [queue, max_attempts, key_while]);
    await store.register({ id: crypto.randomUUID(), name: "living", queues: [], kinds: [KIND] });
    const rule = { by: ["a"], while: ["pending" as const], withinMs: null, debounce: null };
    const gone = { ...KIND, queue: "other", maxAttempts: 5, rule };
    await store.declare({ kinds: [gone], queues: ["q", "other"] });
    await store.database.query(
      "insert into {schema}.worker (id, name, queues) values (gen_random_uuid(), 'older', '[]')",
    );
    assertEquals(await store.renewKinds(), []);
    assertEquals(await stored(), [["other", 5, "{pending}"]]);
    await store.database.query("delete from {schema}.worker where name = 'older'");
    assertEquals(await store.renewKinds(), ["k"]);
    assertEquals(await stored(), [["q", 3, null]]);
  }));
