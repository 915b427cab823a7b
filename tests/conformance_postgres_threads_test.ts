import { conformance } from "./conformance/mod.ts";
import { databaseUrl } from "./harness/database_url.ts";
import { dropEmptySchemas, postgresHarness } from "./harness/postgres.ts";

conformance(postgresHarness(databaseUrl(), "threads"));

Deno.test.afterAll(() => dropEmptySchemas(databaseUrl()));
