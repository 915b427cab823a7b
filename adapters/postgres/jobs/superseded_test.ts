import { assertEquals } from "@std/assert";
import { keyRuleOf } from "../../../shared/key_rule.ts";
import { back, newJob, withStore } from "../fixture_test.ts";

const ROUNDS = 100;

Deno.test("a run that goes back in line in the moment in which a twin commits makes room for it", () =>
  withStore(async ({ store, claim, finish }) => {
    const job = newJob({ rule: keyRuleOf({ unique: { by: [] } })!, unique: true });
    for (let round = 1; round <= ROUNDS; round++) {
      await store.insert([job]);
      const [older] = await claim();
      const settling = Promise.withResolvers<void>();
      const offer = store.database.transaction(async (tx) => {
        await store.insert([job], tx);
        settling.resolve();
      });
      await settling.promise;
      // While the other transaction holds the row nothing is settled; its commit comes at any time of the statement.
      let settled;
      do [settled] = await store.settle([back(older!, "release")]); while (settled === "locked");
      await offer;
      assertEquals(settled, "cancelled", `round ${round}`);
      await finish(await claim());
    }
  }));
