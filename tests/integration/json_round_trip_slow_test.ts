import { echoes, roundTrips } from "../conformance/cases/properties.ts";
import { Stage } from "../conformance/stage.ts";
import { databaseUrl } from "../harness/database_url.ts";
import { dropEmptySchemas, postgresHarness } from "../harness/postgres.ts";

Deno.test("100,000 random args come back exactly as they were given", async () => {
  await using stage = await Stage.open(postgresHarness(databaseUrl(), "inline"));
  await roundTrips(stage, 100_000);
});

Deno.test("100,000 random args reach handlers in threads exactly, and come back so as their output", async () => {
  await using stage = await Stage.open(postgresHarness(databaseUrl(), "threads"));
  await echoes(stage, 100_000);
});

Deno.test.afterAll(() => dropEmptySchemas(databaseUrl()));
